package fleet

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/controlplane"
)

// jsonFields lists the fields of a type, of the types in it as well, by their path of JSON
// names: to the kind of each, and whether it is left out when empty.
func jsonFields(all map[string]string, path string, t reflect.Type) map[string]string {
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
		path, t = path+"[]", t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return all
	}
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		all[path+"."+name] = strings.TrimSpace(kindOf(f.Type) + " " + options)
		jsonFields(all, path+"."+name, f.Type)
	}
	return all
}

func kindOf(t reflect.Type) string {
	if t.Kind() == reflect.Slice {
		return "list of " + kindOf(t.Elem())
	}
	return t.Kind().String()
}

// A field that only one side knows is either lost on its way to people or never filled.
func TestInventory_HasTheSameFieldsOnBothSides(t *testing.T) {
	t.Parallel()
	// What is meant to differ: the control plane names a device as the container engine does,
	// and keeps neither its UUID nor its driver.
	onlyWire := []string{".gpus[].index", ".gpus[].uuid", ".gpus[].driver"}
	onlyControlPlane := []string{".gpus[].id"}
	told := jsonFields(map[string]string{}, "", reflect.TypeFor[wire.Inventory]())
	kept := jsonFields(map[string]string{}, "", reflect.TypeFor[controlplane.Inventory]())
	for _, differing := range []struct {
		in, notIn map[string]string
		names     []string
	}{{told, kept, onlyWire}, {kept, told, onlyControlPlane}} {
		for _, name := range differing.names {
			if _, has := differing.in[name]; !has {
				t.Errorf("%s is listed as different, but does not exist", name)
			}
			if _, has := differing.notIn[name]; has {
				t.Errorf("%s is listed as different, but both sides have it", name)
			}
			delete(differing.in, name)
		}
	}
	if len(told) < 30 {
		t.Fatalf("only %d fields were found", len(told))
	}
	if diff := cmp.Diff(told, kept); diff != "" {
		t.Errorf("agent/wire (-) and controlplane (+) describe a node differently:\n%s", diff)
	}
}

// Every field that an agent fills must arrive: newInventory copies them one by one.
func TestNewInventory_LosesNothing(t *testing.T) {
	t.Parallel()
	var told wire.Inventory
	fillValues(reflect.ValueOf(&told).Elem(), new(int64))
	kept := newInventory(told, time.Time{}, time.Time{})
	want, got := asJSON(t, told), asJSON(t, kept)
	gpu := want["gpus"].([]any)[0].(map[string]any)
	if id := got["gpus"].([]any)[0].(map[string]any); id["id"] == "" {
		t.Error("a GPU has no id")
	} else {
		delete(id, "id")
	}
	delete(gpu, "index")
	delete(gpu, "uuid")
	delete(gpu, "driver")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what the agent told (-) and what is kept (+) differ:\n%s", diff)
	}
}

// fillValues gives each field a value of its own, so that none can stand for another.
func fillValues(v reflect.Value, next *int64) {
	*next++
	switch v.Kind() {
	case reflect.Struct:
		for _, f := range v.Fields() {
			fillValues(f, next)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillValues(v.Elem(), next)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fillValues(v.Index(0), next)
	case reflect.String:
		v.SetString("value " + time.Duration(*next).String())
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(*next)
	case reflect.Float64:
		v.SetFloat(float64(*next))
	default:
		panic("no value for a " + v.Kind().String())
	}
}

func asJSON(t *testing.T, v any) (out map[string]any) {
	t.Helper()
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestSeverity_HasTheSameWordsOnBothSides(t *testing.T) {
	t.Parallel()
	told := []string{string(wire.SeverityOK), string(wire.SeverityUnknown),
		string(wire.SeverityWarning), string(wire.SeverityCritical)}
	kept := []string{string(controlplane.SeverityOK), string(controlplane.SeverityUnknown),
		string(controlplane.SeverityWarning), string(controlplane.SeverityCritical)}
	if !slices.Equal(told, kept) {
		t.Errorf("agents say %q, the control plane knows %q", told, kept)
	}
	down := newInventory(wire.Inventory{Checks: []wire.Check{{ID: wire.CheckEngine,
		Severity: wire.SeverityCritical, Detail: "because"}}}, time.Time{}, time.Time{})
	if !down.EngineDown() {
		t.Error("the control plane does not know the agent's id of the engine's check")
	}
}
