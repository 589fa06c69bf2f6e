package postgres_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// statement is how SQL begins, whatever it is about.
var statement = regexp.MustCompile(`(?is)^["` + "`" + `]\s*(SELECT\s.*\sFROM\s|INSERT\s+INTO\s|` +
	`UPDATE\s+\w+\s+SET\s|DELETE\s+FROM\s|TRUNCATE\s|(ALTER|CREATE|DROP)\s+TABLE\s|WITH\s+\w+\s+AS\s)`)

// One package owns the tables: no other package contains SQL, so that none can bypass it. Plugins
// have databases of their own and are not ours.
func TestSQL_LivesInOnePackage(t *testing.T) {
	t.Parallel()
	here, elsewhere := 0, 0
	for _, part := range []string{"agent", "cmd", "controlplane", "ingress", "pipeline"} {
		err := filepath.WalkDir(filepath.Join("../..", part), func(
			path string, e fs.DirEntry, err error,
		) error {
			if err == nil && e.Name() == "testdata" {
				return fs.SkipDir // programs of tests, such as a stand-in that keeps rows
			}
			if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") ||
				strings.HasSuffix(path, "_test.go") {
				return err
			}
			n, err := countStatements(path)
			if strings.Contains(filepath.ToSlash(path), "/controlplane/postgres/") {
				here += n
				return err
			}
			elsewhere++
			// promise: G-25
			if n > 0 {
				t.Errorf("%s holds %d SQL statements: they belong into controlplane/postgres", path, n)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if here < 10 || elsewhere < 100 {
		t.Errorf("the search finds nothing: %d statements, %d files", here, elsewhere)
	}
}

// countStatements counts string literals that are SQL.
func countStatements(path string) (n int, err error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return 0, err
	}
	ast.Inspect(file, func(node ast.Node) bool {
		text, ok := node.(*ast.BasicLit)
		// The server's own tables, such as pg_database, belong to no package.
		if ok && text.Kind == token.STRING && !strings.Contains(text.Value, " pg_") &&
			statement.MatchString(dropComment(text.Value)) {
			n++
		}
		return true
	})
	return n, nil
}

// dropComment drops the names that sqlc puts before its queries.
func dropComment(literal string) string {
	if rest, ok := strings.CutPrefix(literal, "`-- name:"); ok {
		if _, query, ok := strings.Cut(rest, "\n"); ok {
			return "`" + query
		}
	}
	return literal
}
