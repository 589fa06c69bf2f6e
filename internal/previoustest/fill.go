package previoustest

import (
	"encoding/json"
	"reflect"
	"time"
)

// maxDepth ends types that contain themselves.
const maxDepth = 12

// Fill sets every field that v points to, and all within, to a value that is not zero. A sample
// made from it has every field that the release knows.
func Fill(v any) { fillValue(reflect.ValueOf(v).Elem(), 0) }

func fillValue(v reflect.Value, depth int) {
	if depth > maxDepth || !v.CanSet() {
		return
	}
	switch v.Type() {
	case reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.Date(2026, 11, 26, 9, 4, 24, 0, time.UTC)))
		return
	case reflect.TypeFor[json.RawMessage]():
		v.SetBytes([]byte(`"text"`))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(1)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(0.5)
	case reflect.Interface:
		v.Set(reflect.ValueOf("text"))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillValue(v.Elem(), depth+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fillValue(v.Index(0), depth+1)
	case reflect.Array:
		for i := range v.Len() {
			fillValue(v.Index(i), depth+1)
		}
	case reflect.Map:
		fillMap(v, depth)
	case reflect.Struct:
		for _, field := range v.Fields() {
			fillValue(field, depth+1)
		}
	}
}

func fillMap(v reflect.Value, depth int) {
	key, element := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
	fillValue(key, depth+1)
	fillValue(element, depth+1)
	v.Set(reflect.MakeMap(v.Type()))
	v.SetMapIndex(key, element)
}
