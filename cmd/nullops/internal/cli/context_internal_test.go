package cli

import (
	"os"
	"slices"
	"testing"
)

// Several control planes are remembered, one is used; a file from before there
// were several is one of them.
func TestContexts(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	for _, name := range []string{"NULLOPS_CLI_URL", "NULLOPS_CLI_TOKEN", "NULLOPS_CLI_CONTEXT"} {
		t.Setenv(name, "")
	}
	if _, err := loadLogin(); err == nil {
		t.Fatal("signed in to nothing")
	}
	path, err := loginPath()
	if err != nil {
		t.Fatal(err)
	}
	if err := saveLogin("", login{URL: "https://one.test", Token: "t1"}); err != nil {
		t.Fatal(err)
	}
	old := `{"url":"https://one.test","token":"t1"}`
	if err := os.WriteFile(path, []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := saveLogin("two", login{URL: "https://two.test", Token: "t2"}); err != nil {
		t.Fatal(err)
	}
	used := func() string {
		t.Helper()
		l, err := loadLogin()
		if err != nil {
			t.Fatal(err)
		}
		return l.URL
	}
	if got := used(); got != "https://two.test" {
		t.Errorf("the newest is not used, but %s", got)
	}
	t.Setenv("NULLOPS_CLI_CONTEXT", "one.test")
	if got := used(); got != "https://one.test" {
		t.Errorf("the environment is not heard: %s", got)
	}
	t.Setenv("NULLOPS_CLI_CONTEXT", "")
	known, err := loadContexts()
	if err != nil {
		t.Fatal(err)
	}
	if !known.switchTo("one.test") || known.switchTo("three") || known.save() != nil {
		t.Error("one.test cannot be used, or three can")
	}
	if got := used(); got != "https://one.test" {
		t.Errorf("after use: %s", got)
	}
	if got := known.contextNames(); !slices.Equal(got, []string{"one.test", "two"}) {
		t.Errorf("known are %v", got)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", info, err)
	}
}
