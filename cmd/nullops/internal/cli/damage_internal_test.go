package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nullops/nullops/internal/durable/durabletest"
)

// No login is read from a damaged file: a changed host would get the token.
func TestContexts_RefuseADamagedFile(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	var c contexts
	c.put("prod", login{URL: "https://nullops.example.com", Token: "t-secret"})
	if err := c.save(); err != nil {
		t.Fatal(err)
	}
	path, err := loginPath()
	if err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for what, damaged := range durabletest.Damages(whole) {
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := loadContexts()
		if err == nil || got.URL != "" || got.Token != "" {
			t.Fatalf("%s: read %s, %v", what, got.URL, err)
		}
		if text := err.Error(); !strings.Contains(text, path) || !strings.Contains(text, "login") ||
			strings.Contains(text, "t-secret") {
			t.Fatalf("%s: it says %s", what, text)
		}
	}
	if left, _ := filepath.Glob(path + ".*"); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}
