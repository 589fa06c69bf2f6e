package cli

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/documents"
)

// What the API takes, an export returns: a field that is added to one and forgotten in the other
// would be lost for people who keep definitions in files.
func TestExport_LeavesOutNoField(t *testing.T) {
	// A node has the field only if its agent dials.
	node := fullValue[apiclient.Node]()
	node.Connect = new(apiclient.NodeConnectAgent)
	for kind, c := range map[string]struct {
		takes any
		gives object
		// without are said in another way, or only where they differ from what is
		// meant anyway.
		without []string
	}{
		"registry": {apiclient.RegistryPut{}, registryObject(fullValue[apiclient.Registry]()), nil},
		"service":  {apiclient.ServicePut{}, serviceObject(fullValue[apiclient.Service]()), nil},
		"plugin":   {apiclient.PluginPut{}, pluginObject(fullValue[apiclient.Plugin]()), nil},
		"environment": {environmentDocument{}, environmentObject(fullValue[apiclient.Environment]()),
			[]string{"gate", "redirect_https"}},
		"node": {apiclient.NodePut{}, nodeObject(node), []string{"thumbprint"}},
		"node-template": {apiclient.NodeTemplatePut{},
			nodeTemplateObject(fullValue[apiclient.NodeTemplate]()), nil},
		"user": {apiclient.UserPut{}, userObject(fullValue[apiclient.User]()),
			[]string{"active", "kind"}},
		"project": {apiclient.ProjectPut{}, projectObject(fullValue[apiclient.Project]()), nil},
		// A value is said as from_env.
		"secret": {apiclient.SecretPut{},
			object{Body: toSecretDocument("shop", fullValue[apiclient.Secret]())}, []string{"value"}},
		"team":    {apiclient.TeamPut{}, teamObject(fullValue[apiclient.Team]()), nil},
		"webhook": {webhookDocument{}, webhookObject(fullValue[apiclient.Webhook]()), []string{"active"}},
		"rule":    {apiclient.RulePut{}, ruleObject(fullValue[apiclient.Rule]()), []string{"active"}},
	} {
		text, err := json.Marshal(c.gives.Body)
		if err != nil {
			t.Fatal(err)
		}
		var given map[string]any
		if err := json.Unmarshal(text, &given); err != nil {
			t.Fatal(err)
		}
		for _, field := range fieldsOf(reflect.TypeOf(c.takes)) {
			exempt := slices.Contains(c.without, field) ||
				slices.Contains(documents.HiddenFields[kind], field)
			// promise: I-18
			if _, ok := given[field]; !ok && !exempt {
				t.Errorf("an export of a %s leaves out %s: %s", kind, field, text)
			}
		}
	}
}

// fieldsOf are the names in JSON.
func fieldsOf(t reflect.Type) (names []string) {
	for f := range t.Fields() {
		if f.Anonymous {
			names = append(names, fieldsOf(f.Type)...)
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

// fullValue returns a value with something in every field.
func fullValue[T any]() T {
	var v T
	fillValue(reflect.ValueOf(&v).Elem(), 0)
	return v
}

func fillValue(v reflect.Value, depth int) {
	if depth > 6 {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillValue(v.Elem(), depth+1)
	case reflect.Struct:
		for _, field := range v.Fields() {
			if field.CanSet() {
				fillValue(field, depth+1)
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fillValue(v.Index(0), depth+1)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		value := reflect.New(v.Type().Elem()).Elem()
		fillValue(value, depth+1)
		v.SetMapIndex(reflect.ValueOf("x").Convert(v.Type().Key()), value)
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(1)
	case reflect.Interface:
		v.Set(reflect.ValueOf("x"))
	}
}
