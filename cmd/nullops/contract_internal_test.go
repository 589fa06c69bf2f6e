package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/cmd/nullops/internal/reference"
)

// runElsewhere are commands whose examples this table does not run: they start servers or
// containers, or open a connection of their own. Each is run by a test or story, which
// TestDocs_CommandsAreRunByTests looks for.
var runElsewhere = []string{"dev", "controlplane", "ingress", "agent", "agent doctor",
	"agent lost",
	"agent identity", "agent state", "migrate up", "migrate status",
	"migrate check", "backup", "restore",
	"plugin test",
	"plugin build", "plugin push", "exec", "port-forward", "cp"}

// someID is the id of everything in examples.
const someID = "01920000-0000-7000-8000-000000000001"

// releasePublicKey signed nothing that runs here.
const releasePublicKey = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

// refusedHere are examples that need a person, a release, or a name or result that the contract
// alone does not give, and their exit codes here.
var refusedHere = map[string]int{
	"nullops login https://nullops.example.org --user ada": exit.Usage,
	"nullops version --verify --key nullops-release.pub":   exit.Failed,
	"nullops export project/shop":                          exit.Refused,
	"nullops catalogue show postgres":                      exit.Refused,
	"nullops webhook test chat":                            exit.Failed,
	"nullops sources sync platform":                        exit.Refused,
	"nullops sources apply platform --yes":                 exit.Refused,
	"nullops webhook redeliver chat " + someID:             exit.Failed,
}

// ran is how one command line ended.
type ran struct {
	command     *cobra.Command
	out, errs   string
	code        int
	waitedInput bool
}

// commandRunner runs command lines in this process as main does, without a terminal, in a folder
// that has the files of the examples.
type commandRunner struct {
	server *contractServer
	url    string
}

func newCommandRunner(t *testing.T) *commandRunner {
	t.Helper()
	server, url := newContractServer(t)
	shop, err := filepath.Abs("../../deploy/examples/shop")
	if err != nil {
		t.Fatal(err)
	}
	here := t.TempDir()
	if err := os.Symlink(filepath.Join(filepath.Dir(shop), "../../plugins"),
		filepath.Join(here, "plugins")); err != nil {
		t.Fatal(err)
	}
	work := filepath.Join(here, "deploy", "work")
	if err := os.MkdirAll(work, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(work)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(t.TempDir(), "config"))
	t.Setenv("SHOP_TOKEN", "a token")
	if err := os.CopyFS("shop", os.DirFS(shop)); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"token.txt": "token\n", "chain.pem": "chain",
		"key.pem": "key", "nullops-release.pub": releasePublicKey,
		"address.txt":  "https://chat.example.org/hook",
		"compose.yaml": "services:\n  web:\n    image: registry.example.org/web:v1\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return &commandRunner{server: server, url: url}
}

// run runs a line of examples.txt, with further arguments.
func (r *commandRunner) run(t *testing.T, line string, more ...string) ran {
	t.Helper()
	words := splitWords(strings.ReplaceAll(line, "https://nullops.example.org", r.url))
	stdin := &silentInput{closed: make(chan struct{})}
	defer close(stdin.closed)
	var in io.Reader = stdin
	if i := slices.Index(words, "<"); i >= 0 {
		text, err := os.ReadFile(words[i+1])
		if err != nil {
			t.Fatal(err)
		}
		in, words = bytes.NewReader(text), words[:i]
	}
	if i := slices.Index(words, ">"); i >= 0 {
		words = words[:i]
	}
	switch words[1] {
	case "login":
		words = append(words, "--context", "nullops.example.org")
	case "context":
	default:
		t.Setenv("NULLOPS_CLI_URL", r.url)
		t.Setenv("NULLOPS_CLI_TOKEN", "token")
	}
	root := newSilentRoot(t)
	var out, errs bytes.Buffer
	root.SetIn(in)
	root.SetOut(&out)
	root.SetErr(&errs)
	root.SetArgs(append(words[1:], more...))
	ended := make(chan ran, 1)
	go func() {
		command, err := root.ExecuteContextC(t.Context())
		done := ran{command: command}
		if err != nil {
			done.code = exit.CodeOf(err)
			printError(&errs, command, err)
		}
		ended <- done
	}()
	select {
	case done := <-ended:
		done.out, done.errs, done.waitedInput = out.String(), errs.String(), stdin.asked
		return done
	case <-time.After(20 * time.Second):
		t.Fatalf("%s does not end without a terminal", line)
	}
	return ran{}
}

// newSilentRoot makes the commands while standard output is closed to them: cobra's commands for
// completions keep what it is at that moment.
func newSilentRoot(t *testing.T) *cobra.Command {
	t.Helper()
	nowhere, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nowhere.Close() })
	kept := os.Stdout
	os.Stdout = nowhere
	defer func() { os.Stdout = kept }()
	return rootCommand()
}

// silentInput is standard input of a script: open, and nothing comes.
type silentInput struct {
	closed chan struct{}
	asked  bool
}

// Read implements io.Reader.
func (s *silentInput) Read([]byte) (int, error) {
	s.asked = true
	<-s.closed
	return 0, io.EOF
}

// splitWords splits a line as a shell does, as far as examples need it.
func splitWords(line string) (words []string) {
	var quote rune
	var word strings.Builder
	for _, r := range line + " " {
		switch {
		case r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote = r
		case r == ' ' && quote == 0:
			if word.Len() > 0 {
				words = append(words, word.String())
			}
			word.Reset()
		default:
			word.WriteRune(r)
		}
	}
	return words
}

// exampleLines are the lines of examples.txt with their commands.
func exampleLines(t *testing.T) (lines []string, owners map[string]string) {
	t.Helper()
	owners = map[string]string{}
	for line := range strings.Lines(examples) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		c, _, err := rootCommand().Find(strings.Fields(line)[1:])
		if err != nil || !c.Runnable() {
			t.Errorf("examples.txt: there is no command for %q: %v", line, err)
			continue
		}
		lines = append(lines, line)
		owners[line] = strings.TrimPrefix(c.CommandPath(), "nullops ")
	}
	return lines, owners
}

// The command line is a contract. Each command has an example, which is run here without a
// terminal: it must not wait for input. With --json it prints one document of the published form
// and nothing else on standard output.
func TestContract_ExamplesRunWithoutATerminal(t *testing.T) {
	schemas := compileForms(t)
	runner := newCommandRunner(t)
	lines, owners := exampleLines(t)
	shown := map[string]bool{}
	for _, line := range lines {
		owner := owners[line]
		shown[owner] = true
		if slices.Contains(runElsewhere, owner) {
			continue
		}
		done := runner.run(t, line)
		if done.waitedInput {
			t.Errorf("%s waits for input", line)
		}
		if want := refusedHere[line]; done.code != want {
			t.Errorf("%s: exit code %d, wanted %d\n%s%s", line, done.code, want, done.out, done.errs)
		}
		flag := output.FindJSON(done.command)
		if flag == nil || done.code != 0 {
			continue
		}
		asked := runner.run(t, strings.ReplaceAll(line, " --json", ""), "--json")
		if asked.code != 0 {
			t.Errorf("%s --json: exit code %d\n%s", line, asked.code, asked.errs)
		}
		checkForm(t, schemas, line, flag, asked.out)
	}
	for _, c := range (reference.Program{Root: rootCommand()}).Commands() {
		path := strings.TrimPrefix(c.CommandPath(), "nullops ")
		if c.Runnable() && !c.HasSubCommands() && !shown[path] {
			t.Errorf("nullops %s has no example: add a line to cmd/nullops/examples.txt", path)
		}
	}
}

// checkForm holds what a command printed to one of its published forms.
func checkForm(t *testing.T, schemas map[string]*jsonschema.Schema, line string,
	flag *output.JSONFlagValue, printed string) {
	t.Helper()
	documents := []string{printed}
	if flag.Prints()[0].Lines {
		documents = strings.Split(strings.TrimSpace(printed), "\n")
	}
	for _, document := range documents {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(document))
		if err != nil {
			t.Errorf("%s --json prints %q: %v", line, document, err)
			return
		}
		var problems []error
		fits := slices.ContainsFunc(formTitles(t, line), func(title string) bool {
			err := schemas[title].Validate(value)
			problems = append(problems, err)
			return err == nil
		})
		if !fits {
			t.Errorf("%s --json prints no published form: %v", line, errors.Join(problems...))
		}
	}
}

func formTitles(t *testing.T, line string) (titles []string) {
	t.Helper()
	c, _, err := rootCommand().Find(strings.Fields(line)[1:])
	if err != nil {
		t.Fatal(err)
	}
	for _, printed := range output.FindJSON(c).Prints() {
		titles = append(titles, reference.Form{Command: c, Printed: printed}.Title())
	}
	return titles
}

// compileForms compiles the published schema of each form.
func compileForms(t *testing.T) map[string]*jsonschema.Schema {
	t.Helper()
	text, err := os.ReadFile("../../docs/cli-json.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	schemas := map[string]*jsonschema.Schema{}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("forms.json", document); err != nil {
		t.Fatal(err)
	}
	for title := range document.(map[string]any)["properties"].(map[string]any) {
		compiled, err := compiler.Compile("forms.json#/properties/" +
			strings.NewReplacer("~", "~0", "/", "~1", " ", "%20", "[", "%5B", "]", "%5D").Replace(title))
		if err != nil {
			t.Fatal(err)
		}
		schemas[title] = compiled
	}
	return schemas
}

// A refusal, whatever its kind and whatever the command, ends with a line that says what to do,
// and with the exit code of its kind. Standard output stays empty: a script must not read it.
func TestContract_RefusalsEndWithARemedy(t *testing.T) {
	runner := newCommandRunner(t)
	lines, owners := exampleLines(t)
	for status, code := range map[int]int{http.StatusUnauthorized: exit.Forbidden,
		http.StatusNotFound: exit.Refused, http.StatusInternalServerError: exit.Failed} {
		runner.server.refuses = status
		asked := 0
		for _, line := range lines {
			if slices.Contains(runElsewhere, owners[line]) ||
				strings.HasPrefix(owners[line], "context ") ||
				strings.HasPrefix(owners[line], "plugin ") {
				continue
			}
			done := runner.run(t, line)
			if done.code == 0 || refusedHere[line] != 0 {
				continue // it asks the control plane nothing
			}
			asked++
			last := done.errs[strings.LastIndex(strings.TrimSpace(done.errs), "\n")+1:]
			isDoctor := owners[line] == "doctor" // it prints what it found, refusals too
			if !isDoctor && !strings.HasPrefix(last, "  → ") {
				t.Errorf("%s, refused with %d, ends with %q", line, status, done.errs)
			}
			if !isDoctor && (done.code != code || done.out != "") {
				t.Errorf("%s, refused with %d: exit code %d, wanted %d; it prints %q", line, status,
					done.code, code, done.out)
			}
		}
		if asked < 80 {
			t.Errorf("only %d examples asked the control plane", asked)
		}
	}
	for _, line := range []string{"nullops nonsense", "nullops list --nonsense", "nullops show",
		"nullops deploy shop --env qa --name x --set web", "nullops open",
		"nullops login nullops.example.org", "nullops login ftp://nullops.example.org"} {
		done := runner.run(t, line)
		if done.code != exit.Usage || !strings.Contains(done.errs, "\n  → ") || done.out != "" {
			t.Errorf("%s: exit code %d, prints %q and %q", line, done.code, done.out, done.errs)
		}
	}
}

// The doctor says what production still needs, with what to do about it.
func TestContract_DoctorListsWhatProductionNeeds(t *testing.T) {
	runner := newCommandRunner(t)
	t.Setenv("NULLOPS_CLI_FINGERPRINT", "sha256:00")
	runner.server.fields = map[string]any{"available": false, "scheme": "http", "severity": "critical",
		"domain": "qa.example.org"}
	said := runner.run(t, "nullops doctor").out
	for _, part := range []string{"certificate is of its own making", "nobody gets mail",
		"qa.example.org answer over plain HTTP", "→ Set mail.server", "node feature-7   web: web"} {
		if !strings.Contains(said, part) {
			t.Errorf("it does not say %q:\n%s", part, said)
		}
	}
	runner.server.fields = map[string]any{"scheme": "https"}
	said = runner.run(t, "nullops doctor").out
	if !strings.Contains(said, "every environment has it") {
		t.Errorf("with HTTPS it says:\n%s", said)
	}
	// A name that can never exist, and one that every machine knows.
	for domain, part := range map[string]string{"example.invalid": "example.invalid",
		"localhost": ""} {
		runner.server.fields = map[string]any{"scheme": "https", "domain": domain, "severity": "ok"}
		said := runner.run(t, "nullops doctor").out
		unresolved := regexp.MustCompile(`name.? below \S+\.example\.invalid (resolves|could not)`)
		if got := strings.Contains(said, "dns "); got != (part != "") ||
			part != "" && !unresolved.MatchString(said) {
			t.Errorf("of the domain %s it says:\n%s", domain, said)
		}
	}
}

// Each --help shows its examples, on standard output.
func TestContract_HelpHasExamples(t *testing.T) {
	for _, c := range (reference.Program{Root: rootCommand()}).Commands() {
		if !c.Runnable() || c.HasSubCommands() && c.Name() != "agent" {
			continue
		}
		root := rootCommand()
		var out bytes.Buffer
		root.SetOut(&out)
		root.SetErr(io.Discard)
		root.SetArgs(append(strings.Fields(c.CommandPath())[1:], "--help"))
		if err := root.Execute(); err != nil {
			t.Errorf("%s --help: %v", c.CommandPath(), err)
		}
		if !strings.Contains(out.String(), "Examples:\n") ||
			!strings.Contains(out.String(), c.CommandPath()) {
			t.Errorf("%s --help has no example: %s", c.CommandPath(), out.String())
		}
	}
}

// The comment above an example is whole, and about that command only.
func TestContract_CommentsAreAboutTheirExample(t *testing.T) {
	root := rootCommand()
	for path, want := range map[string]string{
		"login": "  # Sign in by confirming a code in a browser, with a password that is asked for, " +
			"or, in a\n  # script, with a token that is read from a file\n  nullops login https://",
		"settings": "  nullops settings",
		"migrate check": "  # Before an upgrade: can this release take the database over?\n" +
			"  nullops migrate check",
		"keys list": "  nullops keys list",
	} {
		c, _, err := root.Find(strings.Fields(path))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(c.Example, want) {
			t.Errorf("nullops %s --help shows\n%s\nwanted\n%s", path, c.Example, want)
		}
	}
}

// What is published is what the commands are: tools/generate.sh writes these files. A change of
// what --json prints shows here, and in the history of docs/cli-json.md.
func TestContract_IsPublished(t *testing.T) {
	files, err := programReference().Docs()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		published, err := os.ReadFile("../../docs/" + name)
		if err != nil || string(published) != text {
			t.Errorf("docs/%s is not what the commands are: run tools/generate.sh (%v)", name, err)
		}
	}
	if !json.Valid([]byte(files["cli-json.schema.json"])) {
		t.Error("the schema is not JSON")
	}
}
