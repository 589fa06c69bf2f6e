package cli

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/nullops/nullops/internal/documents"
)

// A component's file is found by its absolute path as well as beside the
// document that names it.
func TestDocument_ReadsComponentFiles(t *testing.T) {
	t.Parallel()
	folder, other := t.TempDir(), t.TempDir()
	for _, dir := range []string{folder, other} {
		text := []byte(`{"where":"` + filepath.Base(dir) + `"}`)
		if err := os.WriteFile(filepath.Join(dir, "component.json"), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for file, from := range map[string]string{
		"component.json": folder, "./component.json": folder,
		filepath.Join(other, "component.json"): other,
	} {
		d := documents.Document{File: filepath.Join(folder, "plugin.yaml"), Kind: "plugin", Name: "p",
			Body: map[string]any{"component_file": file}}
		if err := completeDocuments([]documents.Document{d}); err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		got, _ := d.Body["component"].(map[string]any)
		if got["where"] != filepath.Base(from) {
			t.Errorf("%s was read from %v, want %s", file, got["where"], filepath.Base(from))
		}
	}
}

// What a file says in an order is sent with that order noted, since the body itself is sorted: from
// the document, and from the file that it names.
func TestDocument_KeepsTheOrderOfParameters(t *testing.T) {
	t.Parallel()
	const schema = `{"properties": {"zone": {}, "account": {}, "a": {}}}`
	file := filepath.Join(t.TempDir(), "component.json")
	if err := os.WriteFile(file, []byte(`{"parameters": `+schema+`}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"kind: plugin\nname: p\ncomponent_file: " + file,
		"kind: plugin\nname: p\ncomponent:\n  parameters: " + schema,
		"kind: plugin\nname: p\ncomponent:\n  parameters:\n    properties:\n" +
			"      zone: {}\n      account: {}\n      a: {}",
	} {
		docs, found := documents.Parse("plugin.yaml", []byte(text))
		if len(found) > 0 {
			t.Fatalf("%s: %v", text, found)
		}
		if err := completeDocuments(docs); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		component, _ := docs[0].Body["component"].(map[string]any)
		parameters, _ := component["parameters"].(map[string]any)
		if want := []any{"zone", "account", "a"}; !reflect.DeepEqual(parameters["x-order"], want) {
			t.Errorf("%s: the order is %v, want %v", text, parameters["x-order"], want)
		}
	}
}

// A registry's authorities are read from a file as a component is, and not from
// two places at once.
func TestDocument_ReadsCAFiles(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "ca.crt"), []byte("bundle\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	doc := func(body map[string]any) documents.Document {
		return documents.Document{File: filepath.Join(folder, "registry.yaml"),
			Kind: "registry", Name: "own", Body: body}
	}
	for _, file := range []string{"ca.crt", filepath.Join(folder, "ca.crt")} {
		d := doc(map[string]any{"host": "registry.test", "ca_file": file})
		if err := completeDocuments([]documents.Document{d}); err != nil || d.Body["ca"] != "bundle\n" ||
			d.Body["ca_file"] != nil {
			t.Errorf("%s: %+v, %v", file, d.Body, err)
		}
	}
	for _, body := range []map[string]any{
		{"host": "registry.test", "ca_file": "ca.crt", "ca": "bundle"},
		{"host": "registry.test", "ca_file": "absent.crt"},
	} {
		d := doc(body)
		if err := completeDocuments([]documents.Document{d}); err == nil {
			t.Errorf("%v is read as %+v", body, d.Body)
		}
	}
}
