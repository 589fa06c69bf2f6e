package main_test

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

const ownModule = "github.com/nullops/nullops"

// Every import in the module is one that testdata/arrows.txt allows. The files are
// parsed here: the test cache would not notice what `go list` reads.
func TestImports_FollowTheArrows(t *testing.T) {
	arrows := readArrows(t)
	for _, file := range goFiles(t) {
		for _, spec := range file.syntax.Imports {
			imported := strings.Trim(spec.Path.Value, `"`)
			// promise: G-26
			if err := arrows.check(file, imported); err != nil {
				t.Errorf("%s: %v", file.name, err)
			}
		}
	}
}

// What notifies the outside only reads what happened: neither it nor anything it
// imports knows what makes things happen, and nothing of that knows it. They meet
// in the outbox.
func TestArrows_NotificationsOnlyReact(t *testing.T) {
	arrows := readArrows(t)
	const notify = "controlplane/notify"
	acting := []string{"accounts", "catalog", "nodes", "certificates", "lifecycle", "fleet",
		"gate", "reach", "jobs", "provision", "acme", "review"}
	told := arrows.reach(notify)
	for _, name := range acting {
		// promise: G-16
		if name = "controlplane/" + name; told[name] || arrows.reach(name)[notify] {
			t.Errorf("%s and %s know each other", notify, name)
		}
	}
	if !told["controlplane/postgres"] || !arrows.reach("controlplane/api")[notify] {
		t.Error("the search finds nothing")
	}
}

// reach is everything of ours that a package imports, through others too.
func (a arrows) reach(pkg string) map[string]bool {
	all, todo := map[string]bool{}, []string{pkg}
	for len(todo) > 0 {
		next := a.packages[todo[0]]
		todo = todo[1:]
		for _, name := range next {
			if !all[name] {
				all[name] = true
				todo = append(todo, name)
			}
		}
	}
	return all
}

// A row about a package that is gone would allow its return unnoticed.
func TestArrows_NameOnlyWhatExists(t *testing.T) {
	arrows := readArrows(t)
	exists := map[string]bool{"*": true}
	used := map[string]bool{}
	for _, file := range goFiles(t) {
		exists[file.dir] = true
		for _, spec := range file.syntax.Imports {
			used[arrows.libraryOf(strings.Trim(spec.Path.Value, `"`))] = true
		}
	}
	for _, section := range []printTable{arrows.packages, arrows.tests} {
		for pkg, allowed := range section {
			for _, name := range append([]string{pkg}, allowed...) {
				if !exists[name] {
					t.Errorf("arrows.txt names %s, which does not exist", name)
				}
			}
		}
	}
	for library := range arrows.libraries {
		if !used[library] {
			t.Errorf("arrows.txt gives %s an owner, but nothing imports it", library)
		}
	}
}

// The test above would be worthless if check let everything pass.
func TestArrows_RefuseWhatIsNotListed(t *testing.T) {
	arrows := readArrows(t)
	for _, c := range []struct {
		file     goFile
		imported string
	}{
		{goFile{dir: "pipeline"}, ownModule + "/controlplane"},
		{goFile{dir: "agent/engine"}, ownModule + "/agent"},
		{goFile{dir: "agent"}, "github.com/jackc/pgx/v5"},
		{goFile{dir: "controlplane/notify"}, ownModule + "/controlplane/lifecycle"},
		{goFile{dir: "controlplane/lifecycle"}, ownModule + "/controlplane/notify"},
		{goFile{dir: "agent/sidecar"}, "github.com/coder/websocket"},
		{goFile{dir: "agent", test: true}, ownModule + "/controlplane"},
		{goFile{dir: "controlplane/api"}, ownModule + "/controlplane/postgres/pgtest"},
		{goFile{dir: "pipeline"}, "example.com/unheard/of"},
		{goFile{dir: "no/such/package"}, ownModule + "/pipeline"},
	} {
		if arrows.check(c.file, c.imported) == nil {
			t.Errorf("%s may import %s", c.file.dir, c.imported)
		}
	}
}

// printTable maps a name to the names beside it.
type printTable map[string][]string

func (t printTable) allows(from, to string) bool {
	return slices.Contains(t[from], to) || slices.Contains(t[from], "*")
}

// arrows is testdata/arrows.txt.
type arrows struct {
	packages, tests          printTable
	libraries, testLibraries printTable
}

func readArrows(t *testing.T) arrows {
	t.Helper()
	text, err := os.ReadFile("testdata/arrows.txt")
	if err != nil {
		t.Fatal(err)
	}
	a := arrows{printTable{}, printTable{}, printTable{}, printTable{}}
	sections := map[string]printTable{"[packages]": a.packages, "[tests]": a.tests,
		"[libraries]": a.libraries, "[test libraries]": a.testLibraries}
	var current printTable
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if section, ok := sections[line]; ok {
			current = section
			continue
		}
		name, allowed, ok := strings.Cut(line, ":")
		if _, double := current[name]; !ok || current == nil || double {
			t.Fatalf("arrows.txt: cannot read, or read before: %s", line)
		}
		current[name] = strings.Fields(allowed)
	}
	return a
}

func (a arrows) check(file goFile, imported string) error {
	if imported == "C" {
		return fmt.Errorf("no cgo: the binary is static")
	}
	if own, ok := strings.CutPrefix(imported, ownModule+"/"); ok {
		return a.checkOwn(file, own)
	}
	if !strings.Contains(strings.Split(imported, "/")[0], ".") {
		return nil // the standard library
	}
	library := a.libraryOf(imported)
	if library == "" {
		return fmt.Errorf("%s has no owner in arrows.txt", imported)
	}
	inTests := file.test && a.testLibraries.allows(library, file.dir)
	if inTests || a.libraries.allows(library, file.dir) {
		return nil
	}
	return fmt.Errorf("%s may not be imported here, but in %v", imported, a.libraries[library])
}

func (a arrows) checkOwn(file goFile, own string) error {
	if _, ok := a.packages[file.dir]; !ok {
		return fmt.Errorf("package %s has no line in arrows.txt", file.dir)
	}
	if a.packages.allows(file.dir, own) {
		return nil
	}
	helper := strings.HasSuffix(path.Base(own), "test")
	listed := a.tests.allows(file.dir, own) || a.tests.allows("*", own)
	if file.test && (own == file.dir || helper || listed) {
		return nil
	}
	return fmt.Errorf("package %s may not import %s, see arrows.txt", file.dir, own)
}

// libraryOf is the longest listed prefix of an import path, or "".
func (a arrows) libraryOf(imported string) string {
	best := ""
	for _, section := range []printTable{a.libraries, a.testLibraries} {
		for library := range section {
			below := imported == library || strings.HasPrefix(imported, library+"/")
			if below && len(library) > len(best) {
				best = library
			}
		}
	}
	return best
}
