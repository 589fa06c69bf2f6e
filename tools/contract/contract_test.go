package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const base = `openapi: 3.1.0
info: {title: t, version: VERSION}
paths:
  /things:
    post:
      x-access: self
      parameters:
        - {name: limit, in: query, schema: {type: integer, maximum: 500}}
      requestBody:
        required: true
        content:
          application/json:
            schema:
              type: object
              required: [name]
              properties:
                name: {type: string, maxLength: 40}
                mode: {type: string, enum: [a, b]}
      responses:
        '200':
          description: OK
          content:
            application/json:
              schema:
                type: object
                required: [id]
                properties:
                  id: {type: string}
                  size: {type: integer}
`

func writeText(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Each change that a program would notice fails, each addition passes, and a
// version that announces it lets it pass.
func TestRun(t *testing.T) {
	released := writeText(t, "released.yaml", strings.Replace(base, "VERSION", "1.4.0", 1))
	for name, c := range map[string]struct{ old, now, says string }{
		"path renamed": {"/things:", "/items:", "POST /things is gone"},
		"body loses a field": {strings.Repeat(" ", 16) + "mode: {type: string, enum: [a, b]}\n", "",
			"mode is gone"},
		"new must":        {"required: [name]", "required: [name, mode]", "mode must be sent now"},
		"value refused":   {"enum: [a, b]", "enum: [a]", "b is no longer accepted"},
		"shorter":         {"maxLength: 40", "maxLength: 30", "fell to 30"},
		"smaller":         {"maximum: 500", "maximum: 100", "fell to 100"},
		"other type":      {"id: {type: string}", "id: {type: integer}", "its type was string"},
		"answer may miss": {"required: [id]", "required: []", "id may be missing now"},
		"answer is gone":  {"                  size: {type: integer}\n", "", "size is gone"},
		"other status":    {"'200'", "'201'", "no longer answers 200"},
		"access":          {"x-access: self", "x-access: admin", "x-access was self"},
		"parameter is gone": {"        - {name: limit, in: query, schema: {type: integer, maximum: 500}}",
			"        - {name: most, in: query, schema: {type: integer}}", "parameter limit is gone"},
	} {
		t.Run(name, func(t *testing.T) {
			changed := strings.Replace(base, c.old, c.now, 1)
			if changed == base {
				t.Fatal("the case changes nothing")
			}
			same := writeText(t, "same.yaml", strings.Replace(changed, "VERSION", "1.5.0", 1))
			err := runContract([]string{released, same})
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want %q", err, c.says)
			}
			next := writeText(t, "next.yaml", strings.Replace(changed, "VERSION", "2.0.0", 1))
			if err := runContract([]string{released, next}); err != nil {
				t.Errorf("a new major version: %v", err)
			}
		})
	}
	wider := strings.NewReplacer("VERSION", "1.4.1", "enum: [a, b]", "enum: [a, b, c]",
		"maxLength: 40", "maxLength: 60", "size: {type: integer}",
		"size: {type: integer}\n                  color: {type: string}").Replace(base)
	if err := runContract([]string{released, writeText(t, "wider.yaml", wider)}); err != nil {
		t.Errorf("additions: %v", err)
	}
}

func TestAnnounces(t *testing.T) {
	for _, c := range []struct {
		old, now string
		want     bool
	}{
		{"0.1.0", "0.1.1", false}, {"0.1.0", "0.2.0", true}, {"1.2.0", "1.3.0", false},
		{"1.2.0", "2.0.0", true}, {"0.9.0", "1.0.0", true},
	} {
		if got, err := announcesBreak(c.old, c.now); err != nil || got != c.want {
			t.Errorf("%s to %s: %v, %v", c.old, c.now, got, err)
		}
	}
	if _, err := announcesBreak("1", "x"); err == nil {
		t.Error("a version that is none was accepted")
	}
}

// What `make verify` runs is this comparison, of the last release with the
// description that everything is generated from; and taking any operation out of
// that one fails it.
func TestRun_OnOurContract(t *testing.T) {
	const path = "../../controlplane/api/openapi.yaml"
	for name, line := range map[string]string{
		"../../Makefile": "tools/generate.sh --verify",
		"../../tools/generate.sh": "tools/run contract docs/api/released.yaml " +
			"controlplane/api/openapi.yaml",
		"../../.ci/run": "step make verify",
	} {
		text, err := os.ReadFile(name)
		// promise: G-01
		if err != nil || !strings.Contains(string(text), line) {
			t.Errorf("%s does not run %q: %v", name, line, err)
		}
	}
	// promise: G-01
	if err := runContract([]string{"../../docs/api/released.yaml", path}); err != nil {
		t.Errorf("as it is: %v", err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, place := range []string{"/api/v1/deployments:", "/api/v1/events:", "/api/v1/users:"} {
		gone := strings.Replace(string(text), "\n  "+place,
			"\n  "+strings.Replace(place, "v1", "v9", 1), 1)
		err := runContract([]string{path, writeText(t, "gone.yaml", gone)})
		// promise: G-01
		if err == nil || !strings.Contains(err.Error(), strings.TrimSuffix(place, ":")+" is gone") {
			t.Errorf("without %s: %v", place, err)
		}
	}
}
