package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/nullops/nullops/controlplane"
)

// refusal is one way in which the API says no, as the code makes it.
type refusal struct{ kind, message, remedy string }

// errorsPage lists the codes of refusals, and those of failed steps and runs.
func errorsPage(root string) (string, error) {
	refusals, failures := map[string]refusal{}, map[string]bool{}
	for folder, collect := range map[string]func(*ast.File){
		"controlplane": func(f *ast.File) { collectRefusals(f, refusals) },
		"agent":        func(f *ast.File) { collectCodes(f, failures) }} {
		if err := eachFile(filepath.Join(root, folder), collect); err != nil {
			return "", err
		}
	}
	var b strings.Builder
	b.WriteString("# Error codes\n\n" + generatedNote +
		"A refusal of the API has a `code`, which stays the same while the words may change.\n\n" +
		"## Refusals\n\n| code | kind | says | what you can do |\n|---|---|---|---|\n")
	for _, code := range slices.Sorted(maps.Keys(refusals)) {
		r := refusals[code]
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", code, r.kind, cell(r.message), cell(r.remedy))
	}
	b.WriteString("\n## Failures of steps and runs\n\n| code | what you can do |\n|---|---|\n")
	for _, code := range slices.Sorted(maps.Keys(failures)) {
		fmt.Fprintf(&b, "| `%s` | %s |\n", code,
			cell(controlplane.Failure{Code: code}.Remedy()))
	}
	return b.String(), nil
}

// eachFile parses the Go files below a folder that are neither tests nor generated.
func eachFile(folder string, collect func(*ast.File)) error {
	return filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") ||
			strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, ".gen.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		collect(file)
		return nil
	})
}

// collectRefusals finds literals of controlplane.Error with a code.
func collectRefusals(file *ast.File, refusals map[string]refusal) {
	ast.Inspect(file, func(n ast.Node) bool {
		literal, ok := n.(*ast.CompositeLit)
		if !ok || !isErrorType(literal.Type) {
			return true
		}
		fields := map[string]string{}
		for _, element := range literal.Elts {
			if field, ok := element.(*ast.KeyValueExpr); ok {
				if name, ok := field.Key.(*ast.Ident); ok {
					fields[name.Name] = wordsOf(field.Value)
					if name.Name == "Kind" {
						fields["Kind"] = lastName(field.Value)
					}
				}
			}
		}
		code := fields["Code"]
		if _, known := refusals[code]; code != "" && code != "…" && !known {
			refusals[code] = refusal{strings.ToLower(fields["Kind"]), fields["Message"], fields["Remedy"]}
		}
		return true
	})
}

func isErrorType(t ast.Expr) bool {
	switch t := t.(type) {
	case *ast.Ident:
		return t.Name == "Error"
	case *ast.SelectorExpr:
		pkg, ok := t.X.(*ast.Ident)
		return ok && pkg.Name == "controlplane" && t.Sel.Name == "Error"
	}
	return false
}

// wordsOf is the text that an expression makes, as far as it is written there; … is the rest.
func wordsOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if said, err := strconv.Unquote(e.Value); err == nil {
			return said
		}
	case *ast.BinaryExpr:
		return wordsOf(e.X) + wordsOf(e.Y)
	case *ast.CallExpr:
		if name, ok := e.Fun.(*ast.SelectorExpr); ok && name.Sel.Name == "Sprintf" {
			return withoutVerbs(wordsOf(e.Args[0]))
		}
	}
	return "…"
}

// lastName is the name of a constant, without its package.
func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.Ident:
		if ast.IsExported(e.Name) {
			return e.Name
		}
	}
	return "…"
}

// withoutVerbs shows where a format has values.
func withoutVerbs(format string) string {
	for _, verb := range []string{"%q", "%s", "%d", "%v", "%g"} {
		format = strings.ReplaceAll(format, verb, "…")
	}
	return strings.ReplaceAll(format, "%%", "%")
}

// collectCodes finds the constants with which an agent ends a step or a run.
func collectCodes(file *ast.File, codes map[string]bool) {
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for i, name := range spec.Names {
			if !strings.HasPrefix(name.Name, "Code") || i >= len(spec.Values) {
				continue
			}
			if literal, ok := spec.Values[i].(*ast.BasicLit); ok && literal.Kind == token.STRING {
				if code, err := strconv.Unquote(literal.Value); err == nil {
					codes[code] = true
				}
			}
		}
		return true
	})
}
