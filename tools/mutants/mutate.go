package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// mutant is one small change of a file.
type mutant struct {
	// number chooses the mutant in the test binary. It is unique in its target.
	number int
	// id names the mutant by what it changes and not by its line, so that the reason why it
	// survives stays with it when lines move.
	id   string
	file string // from the root of the repository, with slashes
	line int
	// passage is where a test has to come by.
	passage place
	edits   []edit
	// alone is set for what cannot be chosen at run time: it is built by itself. The edits of
	// chosen, if there are any and the compiler takes them, make it a mutant that can.
	alone  bool
	chosen []edit
	// anywhere is set outside of functions, where coverage says nothing.
	anywhere bool
}

// place is a position in a file.
type place struct{ line, column int }

func (m mutant) dir() string { return path.Dir(m.file) }

// edit replaces a part of a file, which is empty for an insertion.
type edit struct {
	begin, end int
	text       string
	closes     bool // what ends here comes before what begins here
}

// findMutants lists all mutants of a target.
func findMutants(ctx context.Context, t target) ([]mutant, error) {
	files, err := listFiles(ctx, t)
	if err != nil {
		return nil, err
	}
	var all []mutant
	seen := map[string]int{}
	for _, file := range files {
		text, err := os.ReadFile(filepath.FromSlash(file))
		if err != nil {
			return nil, err
		}
		found, err := mutateFile(file, text)
		if err != nil {
			return nil, err
		}
		for _, m := range found {
			if seen[m.id]++; seen[m.id] > 1 {
				m.id += fmt.Sprintf(" #%d", seen[m.id])
			}
			m.number = len(all) + 1
			all = append(all, m)
		}
	}
	return all, nil
}

// listFiles asks go which files are built, so that build tags are obeyed.
func listFiles(ctx context.Context, t target) ([]string, error) {
	listed, err := listPackage(ctx, t.dir)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, name := range listed.GoFiles {
		skipped := slices.Contains(t.without, name) || strings.HasSuffix(name, ".gen.go")
		if isMatched(name, t.files) && !skipped {
			files = append(files, path.Join(t.dir, name))
		}
	}
	return files, nil
}

// listed is what go says of a package.
type listed struct {
	ImportPath, Name string
	GoFiles          []string
}

func listPackage(ctx context.Context, dir string) (l listed, err error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-json=ImportPath,Name,GoFiles",
		joinDir(dir)).Output()
	if err != nil {
		return listed{}, fmt.Errorf("go does not list %s: %w", dir, err)
	}
	return l, json.Unmarshal(out, &l)
}

func isMatched(name string, patterns []string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(pattern string) bool {
		matched, err := path.Match(pattern, name)
		return err == nil && matched
	})
}

// mutateFile lists the mutants of one file, without their numbers.
func mutateFile(file string, text []byte) ([]mutant, error) {
	set := token.NewFileSet()
	syntax, err := parser.ParseFile(set, file, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	f := &finder{set: set, file: file, text: string(text)}
	for _, decl := range syntax.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Body != nil {
				f.function = nameFunction(d)
				f.addReturns(d)
				ast.Inspect(d.Body, f.visit)
			}
		case *ast.GenDecl:
			f.function = ""
			f.inConst = d.Tok == token.CONST
			if d.Tok == token.CONST || d.Tok == token.VAR {
				ast.Inspect(d, f.visit)
			}
			f.inConst = false
		}
	}
	return f.found, nil
}

func nameFunction(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return d.Name.Name
	}
	kind := d.Recv.List[0].Type
	if star, ok := kind.(*ast.StarExpr); ok {
		kind = star.X
	}
	if generic, ok := kind.(*ast.IndexExpr); ok {
		kind = generic.X
	}
	if name, ok := kind.(*ast.Ident); ok {
		return name.Name + "." + d.Name.Name
	}
	return d.Name.Name
}

// pickSample chooses n mutants by seed, spread over all of them, in their order. The choice
// depends on the ids, so that it stays mostly the same when code is added.
func pickSample(mutants []mutant, n int, seed int64) []mutant {
	if n <= 0 || n >= len(mutants) {
		return mutants
	}
	picked := shuffle(mutants, seed)[:n]
	slices.SortStableFunc(picked, func(a, b mutant) int {
		return cmp.Or(cmp.Compare(a.dir(), b.dir()), cmp.Compare(a.number, b.number))
	})
	return picked
}

// shuffle orders mutants by seed, so that the first of them are a sample.
func shuffle(mutants []mutant, seed int64) []mutant {
	rank := func(m mutant) string {
		sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", seed, m.id))
		return string(sum[:])
	}
	return slices.SortedFunc(slices.Values(mutants), func(a, b mutant) int {
		return cmp.Compare(rank(a), rank(b))
	})
}

// applyEdits changes the text of a file. Edits at the same place keep their nesting: the outer
// one, which was found first, begins first and ends last.
func applyEdits(text string, edits []edit) string {
	type ordered struct {
		edit
		order int
	}
	all := make([]ordered, len(edits))
	for i, e := range edits {
		all[i] = ordered{e, i}
		if e.closes {
			all[i].order = -i - 1
		}
	}
	slices.SortStableFunc(all, func(a, b ordered) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.order, b.order))
	})
	var out strings.Builder
	done := 0
	for _, e := range all {
		out.WriteString(text[done:e.begin])
		out.WriteString(e.text)
		done = e.end
	}
	out.WriteString(text[done:])
	return out.String()
}
