package output

import (
	"encoding/json"
	"io"
	"reflect"
	"strconv"

	"github.com/spf13/cobra"
)

// JSON is the flag --json of a command that prints a T with it. The command line's contract,
// docs/cli-json.md, is made of these types, so a command can print nothing else.
type JSON[T any] struct{ flag *JSONFlagValue }

// JSONFlagValue is what --json is set to. It knows what the command prints.
type JSONFlagValue struct {
	wanted bool
	prints []Printed
}

// Printed is one form of a command's JSON.
type Printed struct {
	// When says which flag or argument chooses this form; the first form has none.
	When string
	Type reflect.Type
	// Lines is set where each line is a document of its own.
	Lines bool
}

// JSONFlag adds --json, for scripts.
func JSONFlag[T any](c *cobra.Command) JSON[T] {
	flag := &JSONFlagValue{prints: []Printed{{Type: reflect.TypeFor[T]()}}}
	c.Flags().Var(flag, "json", "print JSON, for programs")
	c.Flags().Lookup("json").NoOptDefVal = "true"
	return JSON[T]{flag}
}

// JSONLinesFlag adds --json to a command that prints one document in each line.
func JSONLinesFlag[T any](c *cobra.Command) JSON[T] {
	j := JSONFlag[T](c)
	j.flag.prints[0].Lines = true
	return j
}

// JSONWith is another form that the command prints with --json.
func JSONWith[T any](c *cobra.Command, when string) JSON[T] {
	flag := FindJSON(c)
	flag.prints = append(flag.prints, Printed{When: when, Type: reflect.TypeFor[T]()})
	return JSON[T]{flag}
}

// FindJSON returns the flag --json of a command, or nil.
func FindJSON(c *cobra.Command) *JSONFlagValue {
	flag := c.Flags().Lookup("json")
	if flag == nil {
		return nil
	}
	value, _ := flag.Value.(*JSONFlagValue)
	return value
}

// Wanted reports whether --json is given.
func (j JSON[T]) Wanted() bool { return j.flag != nil && j.flag.wanted }

// Want is for commands that read their flags themselves.
func (j JSON[T]) Want() { j.flag.wanted = true }

// Print prints a value for programs. An empty list is one, also where Go has none.
func (j JSON[T]) Print(w io.Writer, value T) error {
	var printed any = value
	if v := reflect.ValueOf(value); v.Kind() == reflect.Slice && v.IsNil() {
		printed = []struct{}{}
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(printed)
}

// Prints are the forms of the command's JSON.
func (f *JSONFlagValue) Prints() []Printed { return f.prints }

// String implements pflag.Value.
func (f *JSONFlagValue) String() string { return strconv.FormatBool(f.wanted) }

// Set implements pflag.Value.
func (f *JSONFlagValue) Set(text string) (err error) {
	f.wanted, err = strconv.ParseBool(text)
	return err
}

// Type implements pflag.Value.
func (f *JSONFlagValue) Type() string { return "bool" }
