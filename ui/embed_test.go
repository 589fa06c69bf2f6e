package ui_test

import (
	"io/fs"
	"testing"

	"github.com/nullops/nullops/ui"
)

// Built or not, there is a page to serve.
func TestFiles_AlwaysHaveAnIndex(t *testing.T) {
	page, err := fs.ReadFile(ui.Files(), "index.html")
	if err != nil {
		t.Fatal(err)
	}
	if len(page) == 0 {
		t.Fatal("index.html is empty")
	}
}
