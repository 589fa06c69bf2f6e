package main_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"strings"
	"testing"
)

// programStarts are the files of the product that start programs, and how often. Each start passes
// a list of arguments, and so must one that is added here.
func programStarts() map[string]int {
	return map[string]int{
		"agent/docker/gpu.go": 1, "agent/docker/guard.go": 1, "agent/docker/inventory.go": 1,
		"agent/offer/command.go": 1, "cmd/nullops/internal/cli/open.go": 1,
		"cmd/nullops/internal/cli/pluginkit/pluginbuild.go": 1,
		"cmd/nullops/internal/server/postgres.go":           2, "internal/script/runner.go": 1,
		"internal/handover/handover.go": 1,
		"plugins/shell/main.go":         1, "plugins/testplugin/resources.go": 2,
	}
}

// No command line is put together from input: programs get lists of arguments, none of them is a
// shell that reads a text of ours, and sshd, which hands each line to a shell, gets quoted words.
func TestCommands_AreListsOfArguments(t *testing.T) {
	root := openRepository(t)
	starts, lines := map[string]int{}, 0
	for _, name := range sourceFiles(t) {
		if path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || !isProduct(name) {
			continue
		}
		text := readText(t, root, name)
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, isCall := n.(*ast.CallExpr)
			if !isCall {
				return true
			}
			at := files.Position(call.Pos())
			said := text[at.Offset:files.Position(call.End()).Offset]
			switch nameOfCall(call) {
			case "exec.Command", "exec.CommandContext":
				starts[name]++
				for _, word := range []string{`"sh"`, `/sh"`, `bash"`, `"-c"`} {
					if strings.Contains(said, word) {
						t.Errorf("%s starts a shell: %s", at, said)
					}
				}
			case "session.Run", "session.Start", "session.Output", "session.CombinedOutput":
				lines++
				if !strings.Contains(said, "commandLine(") {
					t.Errorf("%s sends a line that is not quoted: %s", at, said)
				}
			}
			return true
		})
	}
	if want := programStarts(); !maps.Equal(starts, want) || lines == 0 {
		t.Errorf("programs are started in %v, and %v was looked at; %d lines for sshd", starts, want,
			lines)
	}
}

// nameOfCall is how a call names a package's function or a variable's method, or "".
func nameOfCall(call *ast.CallExpr) string {
	selector, isSelector := call.Fun.(*ast.SelectorExpr)
	if !isSelector {
		return ""
	}
	of, isName := selector.X.(*ast.Ident)
	if !isName {
		return ""
	}
	return of.Name + "." + selector.Sel.Name
}
