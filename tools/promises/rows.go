package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// rowPages are tables of threats and of faults. People write their rows; the last column, the
// tests that show a row, is written here.
var rowPages = []string{"docs/threats.md", "docs/faults.md"}

// notShown stands in the last column of a row that no test claims.
const notShown = "not shown by a test"

var rowPattern = regexp.MustCompile(`^\| ([TF]\d{1,2}) \|`)

// fillRows writes the last column of a page. It takes the claims that it uses out of the map, so
// that claims of rows that do not exist are left.
func fillRows(text string, claims map[string][]string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		match := rowPattern.FindStringSubmatch(line)
		if match == nil {
			out.WriteString(line)
			continue
		}
		cells := strings.Split(strings.TrimSuffix(strings.TrimSpace(line), " |"), " | ")
		shown := notShown
		if tests := claims[match[1]]; len(tests) > 0 {
			shown = strings.Join(slices.Compact(slices.Sorted(slices.Values(tests))), "<br>")
		}
		delete(claims, match[1])
		cells[len(cells)-1] = shown
		out.WriteString(strings.Join(cells, " | ") + " |\n")
	}
	return out.String()
}

// writeRows fills all pages that exist.
func writeRows(root string, claims map[string][]string) error {
	for _, page := range rowPages {
		name := filepath.Join(root, page)
		text, err := os.ReadFile(name)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return err
		}
		if err := os.WriteFile(name, []byte(fillRows(string(text), claims)), 0o644); err != nil {
			return err
		}
	}
	for id, tests := range claims {
		if !strings.Contains(id, "-") {
			return fmt.Errorf("%s claims %s, which no row of %s has", tests[0], id,
				strings.Join(rowPages, " or "))
		}
	}
	return nil
}
