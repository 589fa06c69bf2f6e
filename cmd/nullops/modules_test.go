package main_test

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"
)

// What the product runs on is what its go.mod lists: a library that only plugins or the
// servers of tests need is required by their modules. Every module of ours but those of
// tools/ is in go.work, so that one build, lint and test run sees all of them.
func TestModules_KeepWhatTheProductDoesNotRunOnApart(t *testing.T) {
	root := openRepository(t)
	apart := []string{"go-sql-driver/mysql", "redis/go-redis", "rclone/gofakes3",
		"letsencrypt/pebble", "oauth2-proxy/mockoidc"}
	product := readText(t, root, "go.mod")
	required := ""
	for _, module := range modules(t, root) {
		if module != "." {
			required += readText(t, root, path.Join(module, "go.mod"))
		}
	}
	for _, library := range apart {
		if strings.Contains(product, library) || !strings.Contains(required, library) {
			t.Errorf("%s belongs in the go.mod of what needs it, and not in the product's", library)
		}
	}
	work := strings.Fields(readText(t, root, "go.work"))
	for _, module := range modules(t, root) {
		if name := "./" + module; module != "." && !slices.Contains(work, name) {
			t.Errorf("go.work does not use %s", name)
		}
	}
}

// modules lists the folders of all modules but those of tools/.
func modules(t *testing.T, root fs.FS) (folders []string) {
	t.Helper()
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		hidden := len(name) > 1 && strings.HasPrefix(entry.Name(), ".")
		if entry.IsDir() && (hidden || name == "tools" || entry.Name() == "node_modules" ||
			entry.Name() == "testdata") {
			return fs.SkipDir
		}
		if entry.Name() == "go.mod" {
			folders = append(folders, path.Dir(name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return folders
}

func readText(t *testing.T, root fs.FS, name string) string {
	t.Helper()
	text, err := fs.ReadFile(root, name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
