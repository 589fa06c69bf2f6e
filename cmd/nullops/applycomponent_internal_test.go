package main

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
