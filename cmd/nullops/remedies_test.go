package main_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane"
)

// Each code with which an agent ends a step or a run has a remedy, unless a person wanted the end.
func TestRemedies_CoverAllCodes(t *testing.T) {
	wanted := map[string]bool{"canceled": true, "superseded": true}
	codes := 0
	for _, pattern := range []string{"../../agent/*.go", "../../agent/engine/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, err)
		}
		for _, path := range files {
			for _, code := range readCodes(t, path) {
				codes++
				f := controlplane.Failure{Code: code}
				if (f.Remedy() == "") != wanted[code] {
					t.Errorf("the remedy of %s is %q", code, f.Remedy())
				}
			}
		}
	}
	if codes < 20 {
		t.Errorf("only %d codes were found", codes)
	}
}

// readCodes returns the texts of the constants of a file whose names begin with Code.
func readCodes(t *testing.T, path string) (codes []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for i, name := range spec.Names {
			if !strings.HasPrefix(name.Name, "Code") || i >= len(spec.Values) {
				continue
			}
			if text, ok := spec.Values[i].(*ast.BasicLit); ok && text.Kind == token.STRING {
				code, err := strconv.Unquote(text.Value)
				if err != nil {
					t.Fatal(err)
				}
				codes = append(codes, code)
			}
		}
		return true
	})
	return codes
}
