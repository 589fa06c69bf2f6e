package script

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/dop251/goja"

	"github.com/nullops/nullops/internal/text"
)

// newInput builds the argument of the script's functions from JSON, so that nothing of ours
// is reachable from it except the function log.
func (e *evaluation) newInput() (goja.Value, error) {
	in := e.request.Input
	in.Parameters, in.Outputs = orEmpty(in.Parameters), orEmpty(in.Outputs)
	in.Secrets, in.Services = orEmpty(in.Secrets), orEmpty(in.Services)
	text, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	v, err := e.parse(goja.Undefined(), e.vm.ToValue(string(text)))
	if err != nil {
		return nil, err
	}
	input := v.ToObject(e.vm)
	err = input.DefineDataProperty("log", e.vm.ToValue(e.log), goja.FLAG_FALSE, goja.FLAG_FALSE,
		goja.FLAG_TRUE)
	return input, err
}

// orEmpty is the map, or an empty one: scripts read fields of it without asking.
func orEmpty[V any](m map[string]V) map[string]V {
	if m == nil {
		return map[string]V{}
	}
	return m
}

// log writes one line of the step's log. Values that are no text are written as JSON.
func (e *evaluation) log(call goja.FunctionCall) goja.Value {
	line := ""
	for i, v := range call.Arguments {
		if i > 0 {
			line += " "
		}
		if room := MaxLine - len(line); room > 0 {
			line += text.Clip(e.logText(v), room)
		}
	}
	if e.logged += len(line) + 1; e.logged > MaxLog {
		e.dropped++
		return goja.Undefined()
	}
	e.out.log(text.Clip(line, MaxLine))
	return goja.Undefined()
}

func (e *evaluation) logText(v goja.Value) string {
	if _, ok := v.(*goja.Object); ok {
		if text, err := e.stringify(goja.Undefined(), v); err == nil && !goja.IsUndefined(text) {
			return text.String()
		}
		return "(a value that is no JSON)"
	}
	if _, ok := v.(*goja.Symbol); ok {
		return "(a symbol)"
	}
	return v.String()
}

// readResult reads what the default function returned: nothing, or {outputs}. It copies plain
// data by hand and asks only for own properties, so that a changed prototype, JSON or Array
// has no say in what comes out.
func (e *evaluation) readResult(v goja.Value) (outputs map[string]any, problem *Problem) {
	if goja.IsUndefined(v) || goja.IsNull(v) {
		return map[string]any{}, nil
	}
	c := copier{vm: e.vm, left: maxOutputs}
	err := e.protect(func() { outputs, problem = c.readOutputs(v) })
	if err != nil {
		return nil, e.explainErr(err)
	}
	return outputs, problem
}

// copier copies plain data out of the interpreter, up to a number of bytes.
type copier struct {
	vm   *goja.Runtime
	left int
}

func (c *copier) readOutputs(v goja.Value) (map[string]any, *Problem) {
	const want = "return {outputs: {…}}, or nothing"
	result, ok := v.(*goja.Object)
	if !ok || !isPlain(result) || result.ClassName() != "Object" {
		return nil, outputsProblem("the script returned %s; %s", nameOf(v), want)
	}
	names := result.GetOwnPropertyNames()
	for _, name := range names {
		if name != "outputs" {
			return nil, outputsProblem("the script returned the unknown field %q; %s",
				text.Clip(name, 80), want)
		}
	}
	if len(names) == 0 {
		return map[string]any{}, nil
	}
	field := result.Get("outputs")
	if goja.IsUndefined(field) || goja.IsNull(field) {
		return map[string]any{}, nil
	}
	data, problem := c.copyValue(field, "outputs", 0)
	if problem != nil {
		return nil, problem
	}
	outputs, ok := data.(map[string]any)
	if !ok {
		return nil, outputsProblem("outputs is %s; return an object", nameOf(field))
	}
	return outputs, nil
}

func (c *copier) copyValue(v goja.Value, path string, depth int) (any, *Problem) {
	if c.left -= 2; c.left < 0 {
		return nil, outputsProblem("the outputs are larger than %d bytes", maxOutputs)
	}
	if depth > maxDepth {
		return nil, outputsProblem("the outputs nest deeper than %d levels, or contain themselves",
			maxDepth)
	}
	switch v := v.(type) {
	case nil:
		return nil, outputsProblem("%s is undefined; leave it out or use null", path)
	case *goja.Object:
		return c.copyObject(v, path, depth)
	case *goja.Symbol:
		return nil, outputsProblem("%s is a symbol; return plain data", path)
	}
	if goja.IsNull(v) {
		return nil, nil
	}
	if goja.IsUndefined(v) {
		return nil, outputsProblem("%s is undefined; leave it out or use null", path)
	}
	switch data := v.Export().(type) {
	case bool:
		return data, nil
	case int64:
		return copyNumber(float64(data), path)
	case float64:
		return copyNumber(data, path)
	case string:
		return c.copyText(data, path)
	}
	return nil, outputsProblem("%s is %s; return plain data", path, nameOf(v))
}

func copyNumber(number float64, path string) (any, *Problem) {
	if math.IsNaN(number) || math.IsInf(number, 0) {
		return nil, outputsProblem("%s is %v, which JSON does not have", path, number)
	}
	return number, nil
}

func (c *copier) copyText(text, path string) (any, *Problem) {
	if c.left -= len(text); c.left < 0 {
		return nil, outputsProblem("the outputs are larger than %d bytes", maxOutputs)
	}
	if !utf8.ValidString(text) || slices.Contains([]rune(text), utf8.RuneError) {
		return nil, outputsProblem("%s is no valid Unicode text", path)
	}
	return text, nil
}

func (c *copier) copyObject(o *goja.Object, path string, depth int) (any, *Problem) {
	if !isPlain(o) {
		return nil, outputsProblem("%s is %s; return plain data", path, nameOf(o))
	}
	if o.ClassName() == "Array" {
		return c.copyArray(o, path, depth)
	}
	all := map[string]any{}
	for _, name := range o.Keys() {
		if c.left -= len(name); c.left < 0 {
			return nil, outputsProblem("the outputs are larger than %d bytes", maxOutputs)
		}
		field := o.Get(name)
		if goja.IsUndefined(field) {
			continue
		}
		data, problem := c.copyValue(field, path+"."+text.Clip(name, 80), depth+1)
		if problem != nil {
			return nil, problem
		}
		all[name] = data
	}
	return all, nil
}

func (c *copier) copyArray(o *goja.Object, path string, depth int) (any, *Problem) {
	length := o.Get("length").ToInteger()
	names := o.Keys()
	if int64(len(names)) != length {
		return nil, outputsProblem("%s has holes or fields that are no items", path)
	}
	all := make([]any, 0, len(names))
	for i, name := range names {
		if name != strconv.Itoa(i) {
			return nil, outputsProblem("%s has holes or fields that are no items", path)
		}
		data, problem := c.copyValue(o.Get(name), fmt.Sprintf("%s[%d]", path, i), depth+1)
		if problem != nil {
			return nil, problem
		}
		all = append(all, data)
	}
	return all, nil
}

// isPlain reports whether an object is a plain one or an array. A proxy is neither.
func isPlain(o *goja.Object) bool {
	if _, function := goja.AssertFunction(o); function {
		return false
	}
	// Maps and sets have the class of a plain object, but another type.
	switch o.ExportType() {
	case reflect.TypeFor[map[string]any]():
		return o.ClassName() == "Object"
	case reflect.TypeFor[[]any]():
		return o.ClassName() == "Array"
	}
	return false
}

// nameOf names a value's kind in a sentence.
func nameOf(v goja.Value) string {
	switch v := v.(type) {
	case nil:
		return "undefined"
	case *goja.Symbol:
		return "a symbol"
	case *goja.Object:
		if v.ExportType() == proxyType {
			return "a proxy"
		}
		switch v.ClassName() {
		case "Array":
			return "an array"
		case "Object":
			return "a Map, a Set or another special object"
		}
		return "a value of class " + v.ClassName()
	}
	if goja.IsNull(v) || goja.IsUndefined(v) {
		return v.String()
	}
	switch v.Export().(type) {
	case bool:
		return "a boolean"
	case int64, float64:
		return "a number"
	case string:
		return "a text"
	}
	return "a BigInt"
}

func outputsProblem(format string, args ...any) *Problem {
	return &Problem{Kind: Outputs, Message: fmt.Sprintf(format, args...)}
}
