package main_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/nullops/nullops/controlplane"
)

// fieldName is a name of the API in a message that people read.
var fieldName = regexp.MustCompile(`\b[a-z]+_[a-z_]+\b`)

// notOurs are words of the outside world: they are written as they are there.
var notOurs = map[string]bool{"http-01": true, "dns-01": true, "no_schedule": true,
	"prefer_no_schedule": true,
	// The cursor of a list is for programs only.
	"next_cursor": true}

// Each refusal reaches people as sentences: a capital letter and a full stop, a remedy that is a
// sentence of its own, and no name of a field of the API.
func TestMessages_AreSentences(t *testing.T) {
	t.Parallel()
	messages, remedies := 0, 0
	for _, folder := range []string{"../../controlplane", "../../pipeline"} {
		readMessages(t, folder, func(path, kind, text string) {
			for _, word := range fieldName.FindAllString(text, -1) {
				if !notOurs[word] {
					t.Errorf("%s: the %s %q says %s, which is a name of the API", path, kind, text, word)
				}
			}
			if kind == "remedy" {
				remedies++
				checkRemedy(t, path, text)
				return
			}
			messages++
			first, _, _ := strings.Cut(text, " ")
			if letter, _ := utf8.DecodeRuneInString(controlplane.Sentence(text)); unicode.IsLower(letter) &&
				!notOurs[first] {
				t.Errorf("%s: %q begins with %q: add that to firstWords in controlplane/sentence.go",
					path, text, first)
			}
			if strings.HasSuffix(text, ".") {
				t.Errorf("%s: %q ends with a full stop, which is added later", path, text)
			}
		})
	}
	if messages < 400 || remedies < 300 {
		t.Errorf("only %d messages and %d remedies were read", messages, remedies)
	}
}

func checkRemedy(t *testing.T, path, text string) {
	t.Helper()
	if letter, _ := utf8.DecodeRuneInString(text); unicode.IsLower(letter) {
		t.Errorf("%s: the remedy %q begins with a small letter", path, text)
	}
	// What goes on after the text is a value.
	if !strings.HasSuffix(text, unknownText) && !strings.ContainsAny(text[len(text)-1:], ".?:") {
		t.Errorf("%s: the remedy %q has no full stop", path, text)
	}
}

// unknownText stands for what only the running program knows.
const unknownText = "\x00"

// readMessages calls found for each message and remedy that begins with a text of ours.
func readMessages(t *testing.T, folder string, found func(path, kind, text string)) {
	t.Helper()
	tell := func(path, kind string, e ast.Expr) {
		if text := literalText(e); text != "" && !strings.HasPrefix(text, unknownText) {
			found(path, kind, text)
		}
	}
	err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
			strings.HasSuffix(path, ".gen.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CompositeLit:
				readErrorFields(n, func(kind string, e ast.Expr) { tell(path, kind, e) })
			case *ast.CallExpr:
				readErrorCall(n, func(kind string, e ast.Expr) { tell(path, kind, e) })
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// readErrorFields reads the fields of controlplane.Error and of Problem.
func readErrorFields(n *ast.CompositeLit, found func(kind string, e ast.Expr)) {
	name := ""
	switch kind := n.Type.(type) {
	case *ast.SelectorExpr:
		name = kind.Sel.Name
	case *ast.Ident:
		name = kind.Name
	}
	if name != "Error" && name != "Problem" {
		return
	}
	for _, element := range n.Elts {
		field, ok := element.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		switch key, _ := field.Key.(*ast.Ident); key.Name {
		case "Message":
			found("message", field.Value)
		case "Remedy":
			found("remedy", field.Value)
		}
	}
}

// readErrorCall reads the arguments of what makes errors and problems.
func readErrorCall(n *ast.CallExpr, found func(kind string, e ast.Expr)) {
	name := ""
	switch f := n.Fun.(type) {
	case *ast.SelectorExpr:
		name = f.Sel.Name
	case *ast.Ident:
		name = f.Name
	}
	switch {
	case name == "NewInvalidError" && len(n.Args) == 4:
		found("message", n.Args[2])
		found("remedy", n.Args[3])
	case name == "NewConflictError" && len(n.Args) == 3:
		found("message", n.Args[1])
		found("remedy", n.Args[2])
	case name == "addProblem" && len(n.Args) > 2:
		found("message", n.Args[2])
	}
}

// literalText is the text of an expression as far as it stands in the source.
func literalText(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil {
			return text
		}
	case *ast.BinaryExpr:
		return literalText(e.X) + literalText(e.Y)
	case *ast.ParenExpr:
		return literalText(e.X)
	case *ast.CallExpr:
		if f, ok := e.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Sprintf" {
			return literalText(e.Args[0])
		}
	}
	return unknownText
}
