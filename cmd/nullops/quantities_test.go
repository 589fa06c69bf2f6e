package main_test

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// numberWithUnit is a number of the running program with its unit, in a format.
var numberWithUnit = regexp.MustCompile(`%[-+0-9.]*[dfgvs] ?(%%|(GiB|MiB|KiB|kB|MB|GB|TB|` +
	`CPUs?|cores?|seconds?|minutes?|hours?|days?|min|h|d|s|ms)\b)`)

// plainUnits are the packages that check fields: they speak of numbers that a person typed, in the
// unit of the field.
var plainUnits = []string{"pipeline", "controlplane/catalog", "controlplane", "plugins", "tools",
	"deploy", "cmd/nullops/internal/server", "internal/quantity"}

// Numbers are worded in one place, internal/quantity, so that one amount reads the same in a
// refusal, in the CLI and on a status page.
func TestQuantities_AreWordedInOnePlace(t *testing.T) {
	t.Parallel()
	formats, rounded := 0, 0
	for _, file := range goFiles(t) {
		if strings.HasSuffix(file.name, "_test.go") || strings.HasSuffix(file.name, ".gen.go") ||
			wordsItself(file.dir) {
			continue
		}
		ast.Inspect(file.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
					formats++
					found := numberWithUnit.FindString(text)
					if found != "" && !strings.Contains(text, "second factor") {
						t.Errorf("%s: %q words a number: use internal/quantity", file.name, found)
					}
				}
			case *ast.CallExpr:
				if printsRounded(n) {
					t.Errorf("%s: a rounded duration is printed as Go has it: use internal/quantity",
						file.name)
				}
				rounded++
			}
			return true
		})
	}
	if formats < 5000 || rounded < 5000 {
		t.Errorf("only %d texts and %d calls were read", formats, rounded)
	}
}

// wordsItself reports whether a package is not held to this: it checks fields, or nobody reads it.
func wordsItself(dir string) bool {
	for _, one := range plainUnits {
		below := one != "controlplane" && strings.HasPrefix(dir, one+"/")
		if dir == one || below {
			return true
		}
	}
	return strings.HasSuffix(dir, "test")
}

// printsRounded reports whether a call hands a rounded duration to a format, or prints it itself.
func printsRounded(call *ast.CallExpr) bool {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	if f.Sel.Name == "String" {
		return isRounded(f.X)
	}
	if pkg, ok := f.X.(*ast.Ident); !ok || pkg.Name != "fmt" {
		return false
	}
	return slices.ContainsFunc(call.Args, isRounded)
}

// isRounded reports whether an expression is x.Round(… time.Second …).
func isRounded(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok || len(call.Args) != 1 {
		return false
	}
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || f.Sel.Name != "Round" {
		return false
	}
	found := false
	ast.Inspect(call.Args[0], func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && id.Name == "time" {
			found = true
		}
		return !found
	})
	return found
}
