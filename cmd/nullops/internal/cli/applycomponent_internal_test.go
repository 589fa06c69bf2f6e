package cli

import (
	"os"
	"path/filepath"
	"testing"
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
		d := document{File: filepath.Join(folder, "plugin.yaml"), Kind: "plugin", Name: "p",
			Body: map[string]any{"component_file": file}}
		if err := d.readComponent(); err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		got, _ := d.Body["component"].(map[string]any)
		if got["where"] != filepath.Base(from) {
			t.Errorf("%s was read from %v, want %s", file, got["where"], filepath.Base(from))
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
	doc := func(body map[string]any) document {
		return document{File: filepath.Join(folder, "registry.yaml"), Kind: "registry", Name: "own",
			Body: body}
	}
	for _, file := range []string{"ca.crt", filepath.Join(folder, "ca.crt")} {
		d := doc(map[string]any{"host": "registry.test", "ca_file": file})
		if err := completeDocuments([]document{d}); err != nil || d.Body["ca"] != "bundle\n" ||
			d.Body["ca_file"] != nil {
			t.Errorf("%s: %+v, %v", file, d.Body, err)
		}
	}
	for _, body := range []map[string]any{
		{"host": "registry.test", "ca_file": "ca.crt", "ca": "bundle"},
		{"host": "registry.test", "ca_file": "absent.crt"},
	} {
		d := doc(body)
		if err := completeDocuments([]document{d}); err == nil {
			t.Errorf("%v is read as %+v", body, d.Body)
		}
	}
}
