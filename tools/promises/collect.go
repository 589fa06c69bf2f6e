package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// claim matches a comment that claims promises, or rows of the tables of threats and faults.
// claimed matches each of them, and idPattern a promise.
var (
	claim = regexp.MustCompile(
		`^\s*(?://|\*|\{?/\*)\s*(?:promise|threat|fault):\s*((?:(?:[A-Z]-\d{2,3}|[TF]\d{1,2})[,\s]*)+)`)
	claimed   = regexp.MustCompile(`[A-Z]-\d{2,3}|[TF]\d{1,2}`)
	idPattern = regexp.MustCompile(`[A-Z]-\d{2,3}`)
	mention   = regexp.MustCompile(`(?:promise|threat|fault): `)
	scenario  = regexp.MustCompile(`\b(?:test|it|check|story)\(\s*["'\x60]([^"'\x60]+)`)
)

// skipped are folders without tests of ours.
var skipped = []string{"node_modules", "dist", "testdata", "placeholder"}

// collectClaims returns, for each claimed promise, the tests that claim it.
func collectClaims(root fs.FS) (map[string][]string, error) {
	claims := map[string][]string{}
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			hidden := len(name) > 1 && strings.HasPrefix(entry.Name(), ".")
			if hidden || slices.Contains(skipped, entry.Name()) || name == "tools/promises" {
				return fs.SkipDir
			}
			return nil
		}
		return collectFile(root, name, claims)
	})
	return claims, err
}

func collectFile(root fs.FS, name string, claims map[string][]string) error {
	var find func(string, []byte) (map[string][]string, error)
	switch path.Ext(name) {
	case ".go":
		find = inGo
	case ".ts", ".tsx", ".mjs", ".js":
		find = inScript
	default:
		return nil
	}
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return err
	}
	if !mention.Match(text) {
		return nil
	}
	found, err := find(name, text)
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	for id, tests := range found {
		claims[id] = append(claims[id], tests...)
	}
	return nil
}

// clusterTag begins the files of tests that need a cluster, and onCluster marks what they show.
const (
	clusterTag = "//go:build kubernetes\n"
	onCluster  = " (on a cluster)"
)

// inGo names the function around each comment.
func inGo(name string, text []byte) (map[string][]string, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	found, mark := map[string][]string{}, ""
	if strings.HasPrefix(string(text), clusterTag) {
		mark = onCluster
	}
	for _, group := range file.Comments {
		for _, comment := range group.List {
			match := claim.FindStringSubmatch(comment.Text)
			if match == nil {
				continue
			}
			test := fmt.Sprintf("`%s` %s%s", path.Dir(name),
				enclosingTest(file, comment.Pos()), mark)
			for _, id := range claimed.FindAllString(match[1], -1) {
				found[id] = append(found[id], test)
			}
		}
	}
	return found, nil
}

func enclosingTest(file *ast.File, pos token.Pos) string {
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		begin := f.Pos()
		if f.Doc != nil {
			begin = f.Doc.Pos()
		}
		if begin <= pos && pos <= f.End() {
			return f.Name.Name
		}
	}
	return file.Name.Name
}

// inScript names the last test that began above each comment.
func inScript(name string, text []byte) (map[string][]string, error) {
	found := map[string][]string{}
	test := ""
	for line := range strings.Lines(string(text)) {
		if match := scenario.FindStringSubmatch(line); match != nil {
			test = " " + formatCell(match[1])
		}
		at := mention.FindStringIndex(line)
		if at == nil {
			continue
		}
		for _, mark := range []string{"//", "/*"} {
			if i := strings.LastIndex(line[:at[0]], mark); i >= 0 {
				line = line[i:]
				break
			}
		}
		if match := claim.FindStringSubmatch(line); match != nil {
			for _, id := range claimed.FindAllString(match[1], -1) {
				found[id] = append(found[id], fmt.Sprintf("`%s`%s", name, test))
			}
		}
	}
	return found, nil
}
