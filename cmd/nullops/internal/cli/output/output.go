// Package output prints what commands show to people and scripts: tables that fit the terminal,
// JSON, and text of strangers that does the terminal no harm.
package output

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/nullops/nullops/internal/quantity"
	"github.com/nullops/nullops/internal/text"
)

// PrintTable prints aligned columns that fit the terminal; the first row is the
// heading. Programs, and files, get every column whole.
func PrintTable(w io.Writer, rows [][]string) error {
	for _, row := range rows {
		for i := range row {
			row[i] = SanitizeText(row[i])
		}
	}
	fitColumns(rows, ColumnsOf(w))
	t := tabwriter.NewWriter(w, 0, 4, tableGap, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	return t.Flush()
}

const (
	tableGap = 2
	// narrowest is what a column keeps, however narrow the terminal is.
	narrowest = 8
)

// ColumnsOf is the terminal's width; 0 for what is none.
func ColumnsOf(w io.Writer) int {
	switch to := w.(type) {
	case *os.File:
		if cols, _, err := term.GetSize(int(to.Fd())); err == nil {
			return cols
		}
	case interface{ Columns() int }:
		return to.Columns()
	}
	return 0
}

// fitColumns cuts the widest columns until a row fits.
func fitColumns(rows [][]string, columns int) {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	total := tableGap * (len(widths) - 1)
	for _, width := range widths {
		total += width
	}
	for ; columns > 0 && total > columns; total-- {
		widest := slices.Index(widths, slices.Max(widths))
		if widths[widest] <= narrowest {
			break
		}
		widths[widest]--
	}
	for _, row := range rows {
		for i, cell := range row {
			if text := []rune(cell); len(text) > widths[i] {
				row[i] = string(text[:widths[i]-1]) + "…"
			}
		}
	}
}

// SanitizeText makes escape sequences and text direction marks harmless to a
// terminal: names and logs come from strangers.
func SanitizeText(s string) string { return text.ReplaceControls(s) }

// FormatAge is a short age: 12 s, 3 min, 5 h, 2 d.
func FormatAge(t time.Time) string { return quantity.FormatSpan(time.Since(t)) }

// IsTerminal reports whether a person is at the other end of a file.
func IsTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
