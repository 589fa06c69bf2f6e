package controlplane

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"
)

// Limits of what an audit entry says about a change.
const (
	maxChangedValue  = 200
	maxChangedFields = 40
)

// DescribeChange lists in which fields two readings of an object differ, one a line, with both
// values as JSON:
//
//	cleanup after hours: 48 → 24
//
// Ids and sealed values are left out. Both have the same type. No line means no difference.
func DescribeChange(before, after any) string {
	var c changeLines
	c.compare("", reflect.ValueOf(before), reflect.ValueOf(after))
	if len(c) > maxChangedFields {
		return strings.Join(c[:maxChangedFields], "\n") + fmt.Sprintf("\nand %d more",
			len(c)-maxChangedFields)
	}
	return strings.Join(c, "\n")
}

type changeLines []string

func (c *changeLines) compare(field string, before, after reflect.Value) {
	_, isValue := reflect.TypeAssert[json.Marshaler](reflect.Zero(before.Type()))
	switch {
	case reflect.DeepEqual(before.Interface(), after.Interface()):
	case before.Kind() == reflect.Struct && !isValue:
		for i := range before.NumField() {
			f := before.Type().Field(i)
			if !f.IsExported() || isHiddenInChanges(f) {
				continue
			}
			name := strings.TrimSpace(field + " " + splitWords(f.Name))
			c.compare(name, before.Field(i), after.Field(i))
		}
	case before.Kind() == reflect.Pointer && !before.IsNil() && !after.IsNil():
		c.compare(field, before.Elem(), after.Elem())
	default:
		*c = append(*c, field+": "+changedValue(before)+" → "+changedValue(after))
	}
}

// isHiddenInChanges reports whether a field says nothing to people, or must not be said.
func isHiddenInChanges(f reflect.StructField) bool {
	t := f.Type
	if t == reflect.TypeFor[Plain]() || t.Kind() == reflect.Slice &&
		t.Elem().Kind() == reflect.Uint8 {
		return true
	}
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return f.Name == "ID" || strings.HasSuffix(t.Name(), "ID")
}

// changedValue is a value as one line of JSON, shortened.
func changedValue(v reflect.Value) string {
	text := encodeChanged(plainList(v))
	if len(text) <= maxChangedValue {
		return text
	}
	return encodeChanged(strings.ToValidUTF8(text[:maxChangedValue], "") + "…")
}

// plainList turns a list of things that describe themselves into a list of texts.
func plainList(v reflect.Value) any {
	if v.Kind() != reflect.Slice || !v.Type().Elem().Implements(reflect.TypeFor[fmt.Stringer]()) {
		return v.Interface()
	}
	texts := make([]string, v.Len())
	for i := range texts {
		texts[i] = fmt.Sprint(v.Index(i).Interface())
	}
	return texts
}

func encodeChanged(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return `"?"`
	}
	return strings.TrimSpace(b.String())
}

// splitWords turns CleanupAfterHours into cleanup after hours. Abbreviations stay: CPU, memory MiB.
func splitWords(name string) string {
	words := strings.Fields(wordBegin.ReplaceAllString(
		strings.ReplaceAll(name, "MiB", " MIB"), " $1"))
	for i, word := range words {
		switch {
		case word == "MIB":
			words[i] = "MiB"
		case word != strings.ToUpper(word):
			words[i] = strings.ToLower(word)
		}
	}
	return strings.Join(words, " ")
}

// wordBegin matches a capital after which a word goes on in small letters.
var wordBegin = regexp.MustCompile(`([A-Z][a-z])`)
