package main_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// goFile is one parsed Go file of the module.
type goFile struct {
	name      string // from the root, with slashes
	dir       string
	test      bool
	generated bool
	lines     []string
	syntax    *ast.File
}

// goFiles returns every Go file of the repository, our tools included. Folders a
// Go build would not look into are left out.
func goFiles(t *testing.T) []goFile {
	t.Helper()
	files, err := parseRepository(openRepository(t))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// parsedRepository is shared: with the race detector it takes seconds to parse all files, and a
// dozen tests look at them.
var parsedRepository struct {
	once  sync.Once
	files []goFile
	err   error
}

func parseRepository(root fs.FS) ([]goFile, error) {
	parsed := &parsedRepository
	parsed.once.Do(func() { parsed.files, parsed.err = parseAll(root) })
	return parsed.files, parsed.err
}

func parseAll(root fs.FS) (files []goFile, err error) {
	err = fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			hidden := len(name) > 1 && strings.HasPrefix(entry.Name(), ".")
			if hidden || entry.Name() == "testdata" || entry.Name() == "node_modules" {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(name) != ".go" {
			return nil
		}
		file, err := parseFile(root, name)
		if err == nil {
			files = append(files, file)
		}
		return err
	})
	return files, err
}

func parseFile(root fs.FS, name string) (goFile, error) {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return goFile{}, err
	}
	syntax, err := parser.ParseFile(token.NewFileSet(), name, text,
		parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return goFile{}, err
	}
	return goFile{
		name: name, dir: path.Dir(name), test: strings.HasSuffix(name, "_test.go"),
		generated: ast.IsGenerated(syntax),
		lines:     strings.Split(strings.TrimSuffix(string(text), "\n"), "\n"),
		syntax:    syntax,
	}, nil
}

func openRepository(t *testing.T) fs.FS {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		t.Fatal("the repository's root is not two folders up:", err)
	}
	return os.DirFS(root)
}

// A reader who opens a package first learns what it is for; twice would be once
// too often.
func TestPackages_HaveOneCommentEach(t *testing.T) {
	comments := map[string][]string{}
	for _, file := range goFiles(t) {
		if file.test {
			continue
		}
		found := comments[file.dir] // kept also when empty: none is a mistake too
		if file.syntax.Doc != nil && !file.generated {
			found = append(found, file.name)
		}
		comments[file.dir] = found
	}
	for dir, files := range comments {
		if len(files) != 1 {
			t.Errorf("package %s has %d package comments, want 1: %v", dir, len(files), files)
		}
	}
}

// forbiddenNames say nothing, or are names of the standard library that readers
// would mistake ours for.
var forbiddenNames = []string{
	"util", "utils", "common", "types", "models", "interfaces", "helpers", "shared", "base", "misc",
	"runtime", "plugin", "log", "errors", "http", "context", "time", "net", "os", "sync", "io", "sql",
	"template", "testing", "user", "url", "json", "exec", "path", "strings", "bytes", "sort", "embed",
}

func TestPackages_HaveUniqueTellingNames(t *testing.T) {
	owner := map[string]string{}
	for _, file := range goFiles(t) {
		name := file.syntax.Name.Name
		if file.test || name == "main" {
			continue
		}
		if slices.Contains(forbiddenNames, name) {
			t.Errorf("%s: a package may not be named %s", file.name, name)
		}
		if other, taken := owner[name]; taken && other != file.dir {
			t.Errorf("packages %s and %s are both named %s", other, file.dir, name)
		}
		owner[name] = file.dir
	}
}

// Unique names make aliases needless; without them a name means one package.
func TestImports_OfOursAreNeverRenamed(t *testing.T) {
	for _, file := range goFiles(t) {
		for _, spec := range file.syntax.Imports {
			if spec.Name != nil && strings.HasPrefix(strings.Trim(spec.Path.Value, `"`), ownModule) {
				t.Errorf("%s: %s is imported as %s", file.name, spec.Path.Value, spec.Name.Name)
			}
		}
	}
}

func TestFiles_StaySmall(t *testing.T) {
	const maxLines, maxColumns = 600, 100
	for _, file := range goFiles(t) {
		if file.generated {
			continue
		}
		if len(file.lines) > maxLines && !file.test {
			t.Errorf("%s has %d lines, more than %d: split it by concern",
				file.name, len(file.lines), maxLines)
		}
		for i, line := range file.lines {
			// A tab counts as one column, as in the configuration of golangci-lint's lll.
			if utf8.RuneCountInString(line) > maxColumns {
				t.Errorf("%s:%d is longer than %d columns", file.name, i+1, maxColumns)
			}
		}
	}
}

func TestFiles_OfTheInterfaceStaySmall(t *testing.T) {
	const maxLines = 400
	root := openRepository(t)
	for _, name := range sourceFiles(t) {
		if !strings.HasPrefix(name, "ui/src/") || strings.Contains(name, ".test.") ||
			strings.HasSuffix(name, ".gen.ts") {
			continue
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			t.Fatal(err)
		}
		if lines := strings.Count(string(text), "\n"); lines > maxLines {
			t.Errorf("%s has %d lines, more than %d: split it by concern", name, lines, maxLines)
		}
	}
}

// Newcomers find their way by the first listing they see. bin is what a build makes.
func TestRoot_HoldsOnlyTheKnownParts(t *testing.T) {
	known := []string{
		"cmd", "controlplane", "agent", "ingress", "internal", "plugins", "pipeline", "migrations", "ui",
		"deploy",
		"go.mod", "go.sum", "go.work", "go.work.sum", "Makefile", "README.md", "CONTRIBUTING.md",
		"LICENSE", "docs", "tools",
		"bin",
	}
	entries, err := fs.ReadDir(openRepository(t), ".")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasPrefix(name, ".") && !slices.Contains(known, name) {
			t.Errorf("%s does not belong at the top of the repository", name)
		}
	}
}

// An operation without x-access is denied at run time; here it is a mistake.
func TestOperations_SayWhoMayUseThem(t *testing.T) {
	text, err := fs.ReadFile(openRepository(t), "controlplane/api/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var spec struct {
		Paths map[string]map[string]yaml.Node `yaml:"paths"`
	}
	if err := yaml.Unmarshal(text, &spec); err != nil {
		t.Fatal(err)
	}
	verbs := []string{"get", "put", "post", "delete", "options", "head", "patch", "trace"}
	operations := 0
	for address, item := range spec.Paths {
		for verb, node := range item {
			if !slices.Contains(verbs, verb) {
				continue
			}
			operations++
			var operation struct {
				ID     string    `yaml:"operationId"`
				Access yaml.Node `yaml:"x-access"`
			}
			if err := node.Decode(&operation); err != nil {
				t.Fatalf("%s %s: %v", verb, address, err)
			}
			if operation.Access.IsZero() || operation.ID == "" {
				t.Errorf("%s %s needs x-access and operationId", strings.ToUpper(verb), address)
			}
		}
	}
	if operations == 0 {
		t.Error("no operation was found: this test looks in the wrong place")
	}
}

// docs/promises.md names every promise that tests claim, and says of the others that no test
// shows them, or why.
func TestPromises_AreListedWithTheirTests(t *testing.T) {
	root := openRepository(t)
	page, err := fs.ReadFile(root, "docs/promises.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`(?m)^\| ([A-Z]-\d{2,3}) \| .* \| (.*) \|$`)
	shown := map[string]string{}
	for _, match := range row.FindAllStringSubmatch(string(page), -1) {
		if shown[match[1]] != "" {
			t.Errorf("docs/promises.md lists %s twice", match[1])
		}
		shown[match[1]] = match[2]
	}
	claimed := claimedPromises(t, root)
	for id, file := range claimed {
		if !strings.Contains(shown[id], "`") {
			t.Errorf("%s claims %s, which docs/promises.md lacks: run make generate", file, id)
		}
	}
	for id, tests := range shown {
		if claimed[id] == "" && strings.Contains(tests, "`") {
			t.Errorf("docs/promises.md names a test of %s, which none claims: run make generate", id)
		}
	}
}

// Each row of the tables of threats and faults names the test that shows it.
func TestThreatsAndFaults_EachHasItsTest(t *testing.T) {
	root := openRepository(t)
	for name, least := range map[string]int{"docs/threats.md": 52, "docs/faults.md": 64} {
		rows := regexp.MustCompile(`(?m)^\| [TF]\d+ \|.*\|$`).FindAllString(
			readText(t, root, name), -1)
		if len(rows) < least {
			t.Errorf("%s has %d rows, wanted at least %d", name, len(rows), least)
		}
		for _, row := range rows {
			// promise: R-04
			if last := row[strings.LastIndex(strings.TrimSuffix(row, "|"), "|"):]; !strings.Contains(
				last, "`") {
				t.Errorf("%s: nothing shows %s", name, row)
			}
		}
	}
}

// claimedPromises maps each claimed id to one file that claims it. The claims are
// searched for in all sources git would keep, so scripts count as well as Go.
func claimedPromises(t *testing.T, root fs.FS) map[string]string {
	t.Helper()
	claim := regexp.MustCompile(`(?://|/\*)\s*promise:\s*((?:[A-Z]-\d{2,3}[,\s]*)+)`)
	id := regexp.MustCompile(`[A-Z]-\d{2,3}`)
	claimed := map[string]string{}
	for _, name := range sourceFiles(t) {
		text, err := fs.ReadFile(root, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range claim.FindAllStringSubmatch(string(text), -1) {
			for _, found := range id.FindAllString(match[1], -1) {
				claimed[found] = name
			}
		}
	}
	return claimed
}

// sourceFiles lists Go and script files outside of ignored folders.
func sourceFiles(t *testing.T) []string {
	t.Helper()
	root := openRepository(t)
	var names []string
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			skip := []string{"node_modules", "dist", "testdata", "placeholder"}
			hidden := len(name) > 1 && strings.HasPrefix(entry.Name(), ".")
			if hidden || slices.Contains(skip, entry.Name()) || name == "tools/promises" {
				return fs.SkipDir
			}
			return nil
		}
		if slices.Contains([]string{".go", ".ts", ".tsx", ".mjs", ".js"}, path.Ext(name)) {
			names = append(names, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// What is started by hand or by CI must at least be readable by its shell.
func TestScripts_Parse(t *testing.T) {
	scripts, err := filepath.Glob("../../tools/*.sh")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("../../tools/setup/*.sh")
	if err != nil {
		t.Fatal(err)
	}
	scripts = append(scripts, more...)
	for _, script := range append(scripts, "../../tools/run", "../../.ci/run",
		"../../deploy/setup.sh") {
		text, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "\nset -euo pipefail\n") {
			t.Errorf("%s lacks set -euo pipefail", script)
		}
		if out, err := exec.Command("bash", "-n", script).CombinedOutput(); err != nil {
			t.Errorf("%s: %s", script, out)
		}
	}
}

// What no agent can see or mend is said to be the operator's.
func TestDocs_SayWhatIsTheOperators(t *testing.T) {
	text, err := os.ReadFile("../../docs/recovery.md")
	if err != nil {
		t.Fatal(err)
	}
	said := strings.Join(strings.Fields(string(text)), " ")
	// promise: N-138
	if !strings.Contains(said, "In a crash, the engine itself can lose track of objects") ||
		!strings.Contains(said, "Cleaning up is the operator's job. Run this on the machine, "+
			"as root: nullops agent lost") {
		t.Error("docs/recovery.md does not say who cleans up what the engine leaks in a crash")
	}
}

// The site lists every page: one that is missing there fails 'make docs', and with it a release.
func TestDocs_AreListedOnTheSite(t *testing.T) {
	root := openRepository(t)
	sidebar := readText(t, root, "tools/docs/sidebar.mjs")
	for _, pattern := range []string{"docs/*.md", "docs/*/*.md"} {
		pages, err := fs.Glob(root, pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, page := range pages {
			link := strings.TrimSuffix(strings.TrimPrefix(page, "docs"), ".md")
			if link != "/index" && !strings.Contains(sidebar, "'"+link+"'") {
				t.Errorf("tools/docs/sidebar.mjs does not list %s", page)
			}
		}
	}
}

// Each page says when what it says was last tested: pages that docs/tested.json knows, one that
// has changed since, and one that it does not know.
func TestDocs_SayWhenTheyWereTested(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, name := range []string{"docs/tested.json", "docs/tutorial.md", "tools/docs/tested.mjs"} {
		copyTo := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(copyTo), 0o755); err != nil {
			t.Fatal(err)
		}
		copyFile(t, filepath.Join("../..", name), copyTo, 0o644)
	}
	says := func(page string) string {
		c := exec.CommandContext(t.Context(), "node", "tools/docs/tested.mjs", "--say", page)
		c.Dir = root
		said, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, said)
		}
		return strings.TrimSpace(string(said))
	}
	tutorial := filepath.Join(root, "docs/tutorial.md")
	known := regexp.MustCompile(
		`^(Last tested on|Changed since it was last tested, on) \d+ \w+ 20\d\d\.$`)
	if said := says("docs/tutorial.md"); !known.MatchString(said) {
		t.Errorf("the tutorial says %q", said)
	}
	writeFile(t, tutorial, "# Another\n", 0o644)
	if said := says("docs/tutorial.md"); !strings.HasPrefix(said, "Changed since") {
		t.Errorf("a page that has changed says %q", said)
	}
	if said := says("docs/fresh.md"); !strings.HasPrefix(said, "Not tested yet") {
		t.Errorf("a new page says %q", said)
	}
}

// Samples carry the reader's own installation: its address, and the names of an environment and of
// a node for somebody who is signed in. Somebody who is not keeps the names that are written.
func TestDocs_SamplesCarryTheReadersNames(t *testing.T) {
	t.Parallel()
	const reader = `
const { fillIn } = await import(process.argv[1])
globalThis.Node = { TEXT_NODE: 3 }
globalThis.location = { host: 'qa.acme.test:8080', origin: 'https://qa.acme.test:8080',
  hostname: 'qa.acme.test' }
const names = { '/api/v1/environments?limit=1': 'staging', '/api/v1/nodes?limit=1': 'rack-4' }
globalThis.fetch = async (path) => ({ ok: process.argv[2] === 'signed in' && path in names,
  json: async () => ({ items: [{ name: names[path] }] }) })
const text = { nodeType: 3, data: process.argv[3] }
await fillIn({ querySelectorAll: () => [{ childNodes: [text] }] })
process.stdout.write(text.data)`
	const sample = "nullops login https://nullops.example.org:8080; " +
		"nullops node add worker-2 --env qa; host: nullops.example.org"
	module, err := filepath.Abs("../../tools/docs/theme/samples.js")
	if err != nil {
		t.Fatal(err)
	}
	for who, want := range map[string]string{
		"signed in": "nullops login https://qa.acme.test:8080; " +
			"nullops node add rack-4 --env staging; host: qa.acme.test",
		"nobody": "nullops login https://qa.acme.test:8080; " +
			"nullops node add worker-2 --env qa; host: qa.acme.test",
	} {
		said, err := exec.CommandContext(t.Context(), "node", "--input-type=module", "-e", reader,
			module, who, sample).CombinedOutput()
		if err != nil || string(said) != want {
			t.Errorf("%s reads %q, wanted %q: %v", who, said, want, err)
		}
	}
}

// The charts of docs/sizing.md show what docs/scale.json has: whoever measures again draws again.
func TestDocs_SizingShowsWhatWasMeasured(t *testing.T) {
	root := openRepository(t)
	var measured struct {
		Curves []struct {
			Name   string
			Points []struct{ Size, Value float64 }
		}
	}
	if err := json.Unmarshal([]byte(readText(t, root, "docs/scale.json")), &measured); err != nil {
		t.Fatal(err)
	}
	page := readText(t, root, "docs/sizing.md")
	charts := map[string]string{"CPU at rest": "One control plane at rest",
		"all online after a restart": "All agents online again", "deployments, p99": "A page of the list",
		"deployments?project=shop&status=ready, p99": "The same, filtered"}
	line := regexp.MustCompile(`(?m)^ *([\d,]+)  (█+) +(\d+) `)
	drawn := 0
	for _, curve := range measured.Curves {
		title, isDrawn := charts[curve.Name]
		if !isDrawn {
			continue
		}
		_, chart, _ := strings.Cut(page, title)
		chart, _, _ = strings.Cut(chart, "\n\n")
		rows := line.FindAllStringSubmatch(chart, -1)
		if len(rows) != len(curve.Points) {
			t.Errorf("%q has %d rows, and %d sizes were measured", title, len(rows), len(curve.Points))
			continue
		}
		for i, p := range curve.Points {
			drawn++
			if want := fmt.Sprintf("%.0f", p.Value); rows[i][3] != want {
				t.Errorf("%q says %s for %s; measured was %s", title, rows[i][3], rows[i][1], want)
			}
		}
	}
	if drawn != 10 {
		t.Errorf("%d points are drawn", drawn)
	}
}
