package main_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nullops/nullops/internal/logs"
)

// logging are the methods that write a line, and how many arguments stand before its keys.
var logging = map[string]int{"Debug": 1, "Info": 1, "Warn": 1, "Error": 1, "warn": 1,
	"Log": 3, "DebugContext": 2, "InfoContext": 2, "WarnContext": 2, "ErrorContext": 2, "With": 0}

// attributes are the functions that make one attribute.
var attributes = []string{"String", "Int", "Int64", "Float64", "Bool", "Any", "Duration", "Time"}

// Every line of every component names things with the keys of one list, and each key of the list
// is in use. What plugins print is output of a step, not a log of ours.
func TestLogKeys_AreOneVocabulary(t *testing.T) {
	t.Parallel()
	known, used := map[string]bool{}, map[string]bool{}
	for _, k := range logs.Keys() {
		known[k.Name] = true
	}
	lines := 0
	check := func(file string, set *token.FileSet, key ast.Expr) {
		name, constant := constantText(key)
		if !constant {
			return
		}
		if used[name] = true; !known[name] {
			t.Errorf("%s: the key %q is not in internal/logs/keys.go: use one that is, or add it",
				set.Position(key.Pos()), name)
		}
	}
	for _, root := range []string{"agent", "cmd", "controlplane", "ingress", "internal"} {
		eachSource(t, filepath.Join("../..", root), func(path string, set *token.FileSet, f *ast.File) {
			ast.Inspect(f, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				name, on := calledMethod(call)
				if name == "Of" && on == "logs" {
					checkComponent(t, set, call)
				}
				if on == "slog" && slices.Contains(attributes, name) && len(call.Args) > 0 {
					check(path, set, call.Args[0])
				}
				before, writes := logging[name]
				if !writes || !isLog(on) || len(call.Args) < before {
					return true
				}
				lines++
				for i := before; i < len(call.Args); i += 2 {
					check(path, set, call.Args[i])
				}
				return true
			})
		})
	}
	if lines < 150 {
		t.Errorf("only %d lines of logs were found", lines)
	}
	for name := range known {
		if !used[name] {
			t.Errorf("no line uses the key %q", name)
		}
	}
}

// checkComponent holds a component to the list that levels are set by.
func checkComponent(t *testing.T, set *token.FileSet, call *ast.CallExpr) {
	t.Helper()
	if len(call.Args) != 2 {
		return
	}
	name, constant := constantText(call.Args[1])
	all := logs.Components()
	if constant && !slices.Contains(all["server"], name) && !slices.Contains(all["agent"], name) {
		t.Errorf("%s: the component %q is not in internal/logs/keys.go",
			set.Position(call.Pos()), name)
	}
}

// eachSource parses the files below a folder that are ours and no tests.
func eachSource(t *testing.T, root string, do func(string, *token.FileSet, *ast.File)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") ||
			strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, ".gen.go") {
			return err
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err == nil {
			do(path, set, f)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// calledMethod returns the name of what is called, and the last name of what it is called on.
func calledMethod(call *ast.CallExpr) (name, on string) {
	s, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return "", ""
	}
	switch x := s.X.(type) {
	case *ast.Ident:
		on = x.Name
	case *ast.SelectorExpr:
		on = x.Sel.Name
	case *ast.CallExpr:
		_, on = calledMethod(x)
		if inner, ok := x.Fun.(*ast.SelectorExpr); ok {
			on = inner.Sel.Name
		}
	}
	return s.Sel.Name, on
}

func isLog(on string) bool {
	return slices.Contains([]string{"log", "Log", "logger", "Logger", "logOf"}, on)
}

// constantText returns a string as it stands in the source, or by the name of its constant.
func constantText(e ast.Expr) (string, bool) {
	switch x := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(x.Value)
		return text, err == nil && x.Kind == token.STRING
	case *ast.Ident:
		return constantKey(x.Name)
	case *ast.SelectorExpr:
		return constantKey(x.Sel.Name)
	}
	return "", false
}

func constantKey(name string) (string, bool) {
	key, ok := map[string]string{"Component": logs.Component, "TraceID": logs.TraceID,
		"RequestID": logs.RequestID}[name]
	return key, ok
}
