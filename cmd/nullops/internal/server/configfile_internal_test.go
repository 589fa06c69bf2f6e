package server

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The same settings, written in each of the languages.
func TestReadConfig_ReadsEveryFormat(t *testing.T) {
	for name, text := range map[string]string{
		"c.yaml": "http:\n  listen: \":9\"\n  connections: 12\n" +
			"Ingress: {shared: true}\nlog:\naudit: {keep: 1.0}\n",
		"c.yml": "http: {Listen: ':9', connections: '12'}\ningress: {shared: true}\naudit: {keep: 1}",
		"c.json": `{"http":{"listen":":9","connections":12},"ingress":{"shared":true},` +
			`"audit":{"keep":1}}`,
		"c.toml": "[http]\nlisten = \":9\"\nconnections = 12\n[ingress]\nshared = true\n" +
			"[audit]\nkeep = 1\n",
	} {
		s := Settings{Log: LogSettings{Level: "info"}}
		if err := readConfig(write(t, name, text), &s); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if s.HTTP.Listen != ":9" || s.HTTP.Connections != 12 || !s.Ingress.Shared ||
			s.Audit.Keep != 1 || s.Log.Level != "info" {
			t.Errorf("%s: read %+v", name, s)
		}
	}
}

func TestReadConfig_ReadsLists(t *testing.T) {
	want := []string{"/opt/decide", "--rules=a,b", "a word"}
	for name, text := range map[string]string{
		"c.yaml": "agent: {offers: {command: [/opt/decide, '--rules=a,b', a word]}}",
		"c.toml": "[agent.offers]\ncommand = ['/opt/decide', '--rules=a,b', 'a word']",
	} {
		s := Settings{}
		err := readConfig(write(t, name, text), &s)
		if err != nil || !slices.Equal(s.Agent.Offers.Command, want) {
			t.Errorf("%s: read %q: %v", name, s.Agent.Offers.Command, err)
		}
	}
}

func TestReadConfig_RefusesWhatIsNoSetting(t *testing.T) {
	for name, c := range map[string]struct{ text, says string }{
		"top.yaml":     {"htpp: {listen: ':9'}", "no setting htpp"},
		"top.toml":     {"[htpp]\nlisten = ':9'", "no setting htpp"},
		"below.yaml":   {"http: {lisen: ':9'}", "lisen"},
		"list.json":    {`{"http":{"listen":[":9"]}}`, "listen is neither"},
		"number.yaml":  {"http: {connections: many}", "many"},
		"section.yaml": {"http: 5", "http"},
		"syntax.toml":  {"[http", "syntax.toml"},
		"name.ini":     {"", "must end in .yaml"},
	} {
		s := Settings{}
		err := readConfig(write(t, name, c.text), &s)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, want %q", name, err, c.says)
		}
	}
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// What pages show of a configuration file are settings that exist.
func TestDocs_SettingsExist(t *testing.T) {
	pages, err := filepath.Glob("../../../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?ms)^```yaml\n((?:#[^\n]*\n)*(agent|vault):.*?)^```")
	found := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range block.FindAllStringSubmatch(string(text), -1) {
			found++
			if err := readConfig(write(t, "shown.yaml", b[1]), &Settings{}); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
	}
	if found < 2 {
		t.Errorf("%d blocks were found: this test looks in the wrong place", found)
	}
}
