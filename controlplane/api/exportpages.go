package api

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
)

// exportPage is how many entries are in memory at a time during an export.
const exportPage = 500

// exportPages reads a list as a file, a page at a time, as fast as it is taken.
type exportPages[T any] struct {
	// next returns up to exportPage entries beyond the last one.
	next  func(last int64) ([]T, error)
	idOf  func(T) int64
	write func(*bytes.Buffer, []T) error
	ready bytes.Buffer
	last  int64
	done  bool
}

func (p *exportPages[T]) Read(into []byte) (int, error) {
	for p.ready.Len() == 0 {
		if p.done {
			return 0, io.EOF
		}
		if err := p.fetchPage(); err != nil {
			return 0, err
		}
	}
	return p.ready.Read(into)
}

func (p *exportPages[T]) fetchPage() error {
	all, err := p.next(p.last)
	if err != nil {
		return err
	}
	if p.done = len(all) < exportPage; len(all) == 0 {
		return nil
	}
	p.last = p.idOf(all[len(all)-1])
	return p.write(&p.ready, all)
}

// writeJSONLines writes each entry, in its form of the API, as one line.
func writeJSONLines[T, V any](form func(T) V) func(*bytes.Buffer, []T) error {
	return func(to *bytes.Buffer, all []T) error {
		lines := json.NewEncoder(to)
		for _, e := range all {
			if err := lines.Encode(form(e)); err != nil {
				return err
			}
		}
		return nil
	}
}

// escapeFormula prefixes cells that a spreadsheet would run as a formula.
func escapeFormula(cell string) string {
	if cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
		return "'" + cell
	}
	return cell
}
