package main_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// yamlBlock is one block of YAML on a page.
type yamlBlock struct{ page, text string }

// listYAMLBlocks finds the blocks of all pages.
func listYAMLBlocks(t *testing.T) (all []yamlBlock) {
	t.Helper()
	block := regexp.MustCompile("(?ms)^```yaml\n(.*?)^```")
	err := filepath.WalkDir("../../docs", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(name) != ".md" {
			return err
		}
		text, err := os.ReadFile(name)
		for _, found := range block.FindAllStringSubmatch(string(text), -1) {
			all = append(all, yamlBlock{filepath.Base(name), found[1]})
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// fragments complete what pages show a part of, by its first key.
var fragments = map[string]string{
	"- key":     part + "pipeline:\n  steps:\n",
	"plugin":    part + "pipeline:\n  steps:\n    - key: x\n",
	"placement": part, "pipeline": part, "secrets": part,
	"gpus": part + "pipeline:\n  steps:\n    - key: x\n      service:\n        name: api\n",
}

const part = "kind: project\nname: part\nresources: {}\n"

// indents are how far such a part stands inside.
var indents = map[string]int{"- key": 4, "plugin": 6, "gpus": 8}

// runsBlocks holds every block of YAML in the documentation to what it is for: documents to the
// control plane, as a command previews them, and what is for Prometheus to promtool. Names of
// services and others that only the page knows are no fault of it; all else is. Settings and
// Compose files are held to their readers by tests of their own.
func (p *product) runsBlocks(t *testing.T) {
	t.Helper()
	taken := 0
	for _, b := range listYAMLBlocks(t) {
		first := regexp.MustCompile(`(?m)^\s*(- key|[a-z_]+):`).FindStringSubmatch(b.text)
		if first == nil {
			t.Errorf("%s has a block that is nothing:\n%s", b.page, b.text)
			continue
		}
		switch key := first[1]; {
		case key == "scrape_configs":
			checkScrape(t, b)
		case slices.Contains([]string{"agent", "vault", "services"}, key):
		case key == "kind":
			p.checkPreview(t, b.page, b.text)
		case fragments[key] != "":
			p.checkPreview(t, b.page, fragments[key]+indentText(b.text, indents[key]))
		default:
			t.Errorf("%s has a block of YAML that no test takes:\n%s", b.page, b.text)
		}
		taken++
	}
	// promise: D-02
	if taken < 15 {
		t.Errorf("only %d blocks were found: this test looks in the wrong place", taken)
	}
}

// A problem is a line of what a command says of documents; onlyKnownThere are those because a page
// names what is not here.
var (
	problem        = regexp.MustCompile(`(?m)^\s+\S+shown\.yaml:\d+: .*$`)
	onlyKnownThere = regexp.MustCompile(`(?i)there is no (service|plugin|registry|environment|team|` +
		`user|project|step|node-template)|does not exist|has no secret|reads no secrets from Vault`)
)

// checkPreview has a command say what applying documents would change.
func (p *product) checkPreview(t *testing.T, page, text string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "shown.yaml")
	writeFile(t, file, text, 0o600)
	out, errs, code := runCommand(t, p.w.binary, []string{"NULLOPS_CLI_URL=" + p.url,
		"NULLOPS_CLI_TOKEN=" + p.admin.token, "SMTP_TOKEN=long-enough",
		"CHAT_URL=https://chat.example.org/x"}, "", "apply", "-f", file, "--dry-run")
	problems := problem.FindAllString(errs, -1)
	if code != 0 && len(problems) == 0 {
		t.Errorf("%s shows what is refused: %s%s\n%s", page, out, errs, text)
	}
	for _, one := range problems {
		// promise: D-02
		if !onlyKnownThere.MatchString(one) {
			t.Errorf("%s shows what is refused: %s\n%s", page, one, text)
		}
	}
}

// indentText moves a text to the right, however far right it stood.
func indentText(text string, by int) string {
	stood := len(text) - len(strings.TrimLeft(text, " "))
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(strings.Repeat(" ", by) + strings.TrimPrefix(line, strings.Repeat(" ", stood)))
	}
	return out.String()
}

func checkScrape(t *testing.T, b yamlBlock) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "prometheus.yml")
	token := filepath.Join(t.TempDir(), "token")
	text := regexp.MustCompile(`credentials_file: [^}]+`).ReplaceAllString(b.text,
		"credentials_file: "+token)
	for name, content := range map[string]string{file: text, token: "x"} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.CommandContext(t.Context(), "promtool", "check", "config", file)
	if said, err := c.CombinedOutput(); err != nil {
		t.Errorf("%s: promtool: %v\n%s", b.page, err, said)
	}
}
