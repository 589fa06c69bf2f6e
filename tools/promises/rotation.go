package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// rotate is the call that puts a test into rotation, see internal/testpart.
const rotate = "testpart.Rotate("

// findRotated returns the functions of tests that only runs in rotation reach, as claims name them.
func findRotated(root fs.FS) (map[string]bool, error) {
	folders := map[string]bool{}
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			hidden := len(name) > 1 && strings.HasPrefix(entry.Name(), ".")
			if hidden || slices.Contains(skipped, entry.Name()) || name == "internal/testpart" {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, "_test.go") || folders[path.Dir(name)] {
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if strings.Contains(string(text), rotate) {
			folders[path.Dir(name)] = true
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	rotated := map[string]bool{}
	for folder := range folders {
		calls, err := readCalls(root, folder)
		if err != nil {
			return nil, err
		}
		for _, name := range calls.inRotation() {
			rotated[fmt.Sprintf("`%s` %s", folder, name)] = true
		}
	}
	return rotated, nil
}

// calls are the functions of a package's tests and what each names. Methods of one name are one:
// who calls which is not looked at, so that a doubtful claim is one of every run.
type calls struct {
	names   map[string][]string
	rotates map[string]bool
}

// readCalls reads the tests of a folder. Files with a build tag are those of other targets of make.
func readCalls(root fs.FS, folder string) (calls, error) {
	c := calls{names: map[string][]string{}, rotates: map[string]bool{}}
	files, err := fs.Glob(root, path.Join(folder, "*_test.go"))
	if err != nil {
		return c, err
	}
	for _, name := range files {
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return c, err
		}
		if strings.HasPrefix(string(text), "//go:build ") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		if err != nil {
			return c, err
		}
		for _, decl := range file.Decls {
			c.add(decl)
		}
	}
	return c, nil
}

func (c calls) add(decl ast.Decl) {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		name := decl.Name.Name
		_, known := c.names[name]
		c.names[name] = append(c.names[name], identifiersIn(decl)...)
		c.rotates[name] = callsRotate(decl) && (!known || c.rotates[name])
	case *ast.GenDecl: // a table of tests names functions too
		for _, spec := range decl.Specs {
			if values, ok := spec.(*ast.ValueSpec); ok {
				for _, name := range values.Names {
					c.names[name.Name] = append(c.names[name.Name], identifiersIn(values)...)
				}
			}
		}
	}
}

func identifiersIn(node ast.Node) (names []string) {
	ast.Inspect(node, func(n ast.Node) bool {
		if name, ok := n.(*ast.Ident); ok {
			names = append(names, name.Name)
		}
		return true
	})
	return names
}

// callsRotate reports whether the function itself does: a part of it that does leaves the rest.
func callsRotate(f *ast.FuncDecl) bool {
	if f.Body == nil {
		return false
	}
	return slices.ContainsFunc(f.Body.List, func(statement ast.Stmt) bool {
		expression, ok := statement.(*ast.ExprStmt)
		if !ok {
			return false
		}
		call, ok := expression.X.(*ast.CallExpr)
		if !ok {
			return false
		}
		called, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		library, ok := called.X.(*ast.Ident)
		return ok && library.Name+"."+called.Sel.Name+"(" == rotate
	})
}

// inRotation returns what tests reach in rotation only.
func (c calls) inRotation() []string {
	every := c.reach(func(name string) bool { return !c.rotates[name] })
	all := c.reach(func(string) bool { return true })
	maps.DeleteFunc(all, func(name string, _ bool) bool { return every[name] })
	return slices.Sorted(maps.Keys(all))
}

// reach follows the names from all tests through the functions that pass.
func (c calls) reach(passes func(name string) bool) map[string]bool {
	var todo []string
	for name := range c.names {
		if strings.HasPrefix(name, "Test") || strings.HasPrefix(name, "Fuzz") {
			todo = append(todo, name)
		}
	}
	reached := map[string]bool{}
	for ; len(todo) > 0; todo = todo[1:] {
		name := todo[0]
		if named, ours := c.names[name]; ours && !reached[name] && passes(name) {
			reached[name] = true
			todo = append(todo, named...)
		}
	}
	return reached
}

// markRotated says of each claim in one of those functions when it is shown.
func markRotated(claims map[string][]string, rotated map[string]bool) {
	for _, tests := range claims {
		for i, test := range tests {
			if rotated[test] {
				tests[i] = test + inRotation
			}
		}
	}
}

const inRotation = " (in rotation)"
