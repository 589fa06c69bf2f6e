// Command naming prints figures about how the module names its functions and how
// long they are, so that a change in style shows as a number.
//
//	tools/run naming             prints the figures
//	tools/run naming --list      prints each unexported function whose name is one word
//	tools/run naming --tests     looks at the files of tests instead
//
// Generated files are left out. A method counts like a function; for a
// method of one word the receiver may be the object ("pool.close"), so a high share
// is not wrong by itself, but names that say neither verb nor object are.
package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

func main() {
	list := flag.Bool("list", false, "print the functions whose name is one word")
	tests := flag.Bool("tests", false, "look at the files of tests instead of the product's")
	flag.Parse()
	functions, err := collectFunctions(".", *tests)
	if err != nil {
		fmt.Fprintln(os.Stderr, "naming:", err)
		os.Exit(1)
	}
	if *list {
		printOneWordNames(os.Stdout, functions)
		return
	}
	printFigures(os.Stdout, functions)
}

// function is one declared function or method.
type function struct {
	file     string
	line     int
	receiver string // the receiver's type; empty for a function
	name     string
	lines    int // of the declaration, without its comment
}

func (f function) words() int { return countWords(f.name) }

func (f function) isExported() bool { return ast.IsExported(f.name) }

// collectFunctions reads all Go files below root, either those of tests or all others, in the order
// of their paths.
func collectFunctions(root string, tests bool) ([]function, error) {
	var all []function
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && isSkippedFolder(entry.Name()):
			return fs.SkipDir
		case entry.IsDir() || !isWritten(path) || strings.HasSuffix(path, "_test.go") != tests:
			return nil
		}
		found, err := parseFunctions(path)
		all = append(all, found...)
		return err
	})
	return all, err
}

func isSkippedFolder(name string) bool {
	return name != "." && (strings.HasPrefix(name, ".") || name == "node_modules" ||
		name == "testdata")
}

// isWritten reports whether a file is Go code that was not generated.
func isWritten(path string) bool {
	return strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, ".gen.go") &&
		!strings.Contains(path, "internal/dbsqlc/")
}

func parseFunctions(path string) ([]function, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution|parser.ParseComments)
	if err != nil || ast.IsGenerated(file) {
		return nil, err
	}
	var all []function
	for _, declaration := range file.Decls {
		f, ok := declaration.(*ast.FuncDecl)
		if !ok || f.Name.Name == "main" || f.Name.Name == "init" || f.Name.Name == "_" {
			continue
		}
		first, last := set.Position(f.Pos()).Line, set.Position(f.End()).Line
		all = append(all, function{file: path, line: first, receiver: receiverOf(f),
			name: f.Name.Name, lines: last - first + 1})
	}
	return all, nil
}

func receiverOf(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return ""
	}
	t := f.Recv.List[0].Type
	for {
		switch inner := t.(type) {
		case *ast.StarExpr:
			t = inner.X
		case *ast.IndexExpr:
			t = inner.X
		case *ast.IndexListExpr:
			t = inner.X
		case *ast.Ident:
			return inner.Name
		default:
			return ""
		}
	}
}

// countWords counts the words of a name in camel case. Initials are one word.
func countWords(name string) int {
	words, previous := 0, ' '
	for _, r := range name {
		if words == 0 || unicode.IsUpper(r) && !unicode.IsUpper(previous) {
			words++
		}
		previous = r
	}
	return words
}

// isParticiple reports names like refused or told, which name a state, not an action.
func isParticiple(name string) bool {
	verbs := []string{"read", "run", "need", "succeed", "proceed", "exceed"}
	irregular := []string{"told", "kept", "held", "sent", "made", "gone", "known", "shown", "heard",
		"felt", "lent", "given", "taken", "seen", "done", "written", "drawn", "left", "lost", "found",
		"met", "said", "stood", "run", "begun", "brought", "built", "bound", "spent", "read"}
	return countWords(name) == 1 && !slices.Contains(verbs, name) &&
		(strings.HasSuffix(name, "ed") && len(name) > 4 || slices.Contains(irregular, name))
}

func printOneWordNames(w io.Writer, functions []function) {
	for _, f := range functions {
		if f.isExported() || f.words() > 1 {
			continue
		}
		name := f.name
		if f.receiver != "" {
			name = f.receiver + "." + f.name
		}
		_, _ = fmt.Fprintf(w, "%s:%d: %s\n", f.file, f.line, name)
	}
}

func printFigures(w io.Writer, functions []function) {
	var lengths, words, lines []int
	oneWord, participles, free := 0, 0, 0
	for _, f := range functions {
		lines = append(lines, f.lines)
		if f.isExported() {
			continue
		}
		lengths, words = append(lengths, len(f.name)), append(words, f.words())
		if f.words() == 1 {
			oneWord++
			if f.receiver == "" {
				free++
			}
		}
		if isParticiple(f.name) {
			participles++
		}
	}
	for _, row := range []struct {
		what, value string
	}{
		{"functions", fmt.Sprint(len(functions))},
		{"unexported functions", fmt.Sprint(len(lengths))},
		{"of these, named with one word", fmt.Sprintf("%d (%s), %d of them without a receiver",
			oneWord, formatPercent(oneWord, len(lengths)), free)},
		{"of these, participles", fmt.Sprint(participles)},
		{"length of an unexported name, median", fmt.Sprint(computeQuantile(lengths, 50))},
		{"words of an unexported name, mean", fmt.Sprintf("%.2f", computeMean(words))},
		{"lines of a function, median, p90 and longest", fmt.Sprintf("%d, %d, %d",
			computeQuantile(lines, 50), computeQuantile(lines, 90), computeQuantile(lines, 100))},
	} {
		_, _ = fmt.Fprintf(w, "%-46s %s\n", row.what, row.value)
	}
}

func formatPercent(part, whole int) string {
	return fmt.Sprintf("%.0f %%", 100*float64(part)/float64(max(whole, 1)))
}

func computeMean(values []int) float64 {
	sum := 0
	for _, v := range values {
		sum += v
	}
	return float64(sum) / float64(max(len(values), 1))
}

// computeQuantile returns the value that q percent of the values do not exceed.
func computeQuantile(values []int, q int) int {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(len(sorted)*q/100, len(sorted)-1)]
}
