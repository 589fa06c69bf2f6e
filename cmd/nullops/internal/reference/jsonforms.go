package reference

import (
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
)

// Form is one form of what a command prints with --json.
type Form struct {
	Command *cobra.Command
	output.Printed
}

// Forms are the forms of all commands, in the order of the commands.
func (p Program) Forms() (all []Form) {
	for _, c := range p.Commands() {
		if flag := output.FindJSON(c); flag != nil {
			for _, printed := range flag.Prints() {
				all = append(all, Form{c, printed})
			}
		}
	}
	return all
}

// Title names the form, as the page and the schema do.
func (f Form) Title() string {
	title := f.Command.CommandPath() + " --json"
	if f.When != "" {
		title = f.Command.CommandPath() + " " + f.When + " --json"
	}
	return title
}

// forms collects the schemas of named types.
type forms struct {
	defs  map[string]any
	names map[reflect.Type]string
}

// jsonSchema is one JSON Schema: the types as $defs, and each command's form by its title.
func (p Program) jsonSchema() (string, error) {
	f := newForms()
	commands := map[string]any{}
	for _, form := range p.Forms() {
		commands[form.Title()] = f.schemaOf(form.Type)
	}
	var text strings.Builder
	e := json.NewEncoder(&text)
	e.SetIndent("", " ")
	e.SetEscapeHTML(false)
	err := e.Encode(map[string]any{"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title":       "What nullops COMMAND --json prints",
		"description": "properties has the form of each command, $defs the types that they share.",
		"properties":  commands, "$defs": f.defs})
	return text.String(), err
}

func newForms() *forms {
	return &forms{defs: map[string]any{}, names: map[reflect.Type]string{}}
}

var (
	marshaler     = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

// schemaOf is the schema of a type. A type that writes itself may be anything.
func (f *forms) schemaOf(t reflect.Type) map[string]any {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return map[string]any{"type": "string", "format": "date-time"}
	case t.Kind() == reflect.Pointer:
		return f.schemaOf(t.Elem())
	case t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler):
		return map[string]any{}
	case t.Implements(textMarshaler) || reflect.PointerTo(t).Implements(textMarshaler):
		return map[string]any{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Float32, reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return map[string]any{"type": "string", "contentEncoding": "base64"}
		}
		return map[string]any{"type": "array", "items": f.schemaOf(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": f.schemaOf(t.Elem())}
	case reflect.Struct:
		return f.refTo(t)
	case reflect.Interface:
		return map[string]any{}
	default: // all that is left of what JSON knows are integers
		return map[string]any{"type": "integer"}
	}
}

func (f *forms) refTo(t reflect.Type) map[string]any {
	if t.Name() == "" {
		return f.objectOf(t)
	}
	name, known := f.names[t]
	if !known {
		name = f.freeName(t)
		f.names[t] = name
		f.defs[name] = nil // taken, before the type is met within itself
		f.defs[name] = f.objectOf(t)
	}
	return map[string]any{"$ref": "#/$defs/" + name}
}

// freeName is the type's name, with its package's where two types have the same.
func (f *forms) freeName(t reflect.Type) string {
	name := strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
	if _, taken := f.defs[name]; taken {
		folder := t.PkgPath()[strings.LastIndex(t.PkgPath(), "/")+1:]
		name = strings.ToUpper(folder[:1]) + folder[1:] + name
	}
	return name
}

func (f *forms) objectOf(t reflect.Type) map[string]any {
	properties, required := map[string]any{}, []string{}
	f.addFields(t, properties, &required)
	slices.Sort(required)
	return map[string]any{"type": "object", "properties": properties, "required": required,
		"additionalProperties": false}
}

// addFields adds the fields of a struct as encoding/json writes them.
func (f *forms) addFields(t reflect.Type, properties map[string]any, required *[]string) {
	for field := range t.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		inner := field.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case field.Anonymous && name == "" && inner.Kind() == reflect.Struct:
			f.addFields(inner, properties, required)
			continue
		case name == "-" || !field.IsExported():
			continue
		case name == "":
			name = field.Name
		}
		schema := f.schemaOf(field.Type)
		optional := strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero")
		if !optional {
			*required = append(*required, name)
			if mayBeNull(field.Type) {
				schema = map[string]any{"anyOf": []any{schema, map[string]any{"type": "null"}}}
			}
		}
		properties[name] = schema
	}
}

// mayBeNull reports whether Go writes null for the type's zero value.
func mayBeNull(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return true
	}
	return false
}

// jsonPage is the schema for people.
func (p Program) jsonPage() string {
	f := newForms()
	var b strings.Builder
	b.WriteString("# What --json prints\n\n" + generatedNote +
		"With `--json`, a command prints one JSON document on standard output and nothing else " +
		"there. New fields may be\nadded in a release; a field is not removed, renamed or given " +
		"another type within a major version. The JSON\nSchema of all of it is " +
		"[cli-json.schema.json](cli-json.schema.json). A type with the name of a schema of the\n" +
		"[API](reference/api.md) is that schema, and its fields are described there.\n\n" +
		"| command | prints |\n|---|---|\n")
	for _, form := range p.Forms() {
		what := typeText(f.schemaOf(form.Type))
		if form.Lines {
			what += ", one in each line"
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", form.Title(), what)
	}
	b.WriteString("\nA field with a question mark may be absent.\n")
	for _, name := range slices.Sorted(maps.Keys(f.defs)) {
		writeType(&b, name, f.defs[name].(map[string]any))
	}
	return b.String()
}

func writeType(b *strings.Builder, name string, object map[string]any) {
	fmt.Fprintf(b, "\n## %s\n\n", name)
	properties := object["properties"].(map[string]any)
	if len(properties) == 0 {
		b.WriteString("An empty object.\n")
		return
	}
	b.WriteString("| field | type |\n|---|---|\n")
	required := object["required"].([]string)
	for _, field := range slices.Sorted(maps.Keys(properties)) {
		mark := "?"
		if slices.Contains(required, field) {
			mark = ""
		}
		fmt.Fprintf(b, "| `%s`%s | %s |\n", field, mark,
			typeText(properties[field].(map[string]any)))
	}
}

// typeText is a schema in a few words.
func typeText(schema map[string]any) string {
	if ref, ok := schema["$ref"].(string); ok {
		name := strings.TrimPrefix(ref, "#/$defs/")
		return "[" + name + "](#" + strings.ToLower(name) + ")"
	}
	if either, ok := schema["anyOf"].([]any); ok {
		return typeText(either[0].(map[string]any)) + ", or null"
	}
	switch schema["type"] {
	case "array":
		return "list of " + typeText(schema["items"].(map[string]any))
	case "object":
		if of, ok := schema["additionalProperties"].(map[string]any); ok {
			return "object of " + typeText(of)
		}
		return "object"
	case "string":
		if schema["format"] == "date-time" {
			return "time (RFC 3339)"
		}
		return "string"
	case nil:
		return "anything"
	}
	return schema["type"].(string)
}
