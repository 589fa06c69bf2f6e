package main

import (
	"io"
	"strings"
	"testing"
)

// A table's header comes in pieces, each cell by itself, and stays one line.
func TestIndented_KeepsLinesWrittenInPieces(t *testing.T) {
	var got strings.Builder
	to := &indented{to: &got}
	for _, piece := range []string{"NAME  ", "STATE", "\n", "demo  online\nend", "\n"} {
		if _, err := io.WriteString(to, piece); err != nil {
			t.Fatal(err)
		}
	}
	want := "   NAME  STATE\n   demo  online\n   end\n"
	if got.String() != want {
		t.Errorf("written:\n%s\nwant:\n%s", got.String(), want)
	}
}
