// Package ui holds the web interface as files, built by `npm run build` in this
// folder and embedded into the binary. When it was not built, Files has one
// page that says so: `go build` never needs Node.
package ui

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var dist embed.FS

// docs is the documentation site, which make docs builds from docs/ and tools/docs.
//
//go:embed all:docs
var docs embed.FS

//go:embed placeholder
var placeholder embed.FS

// Files returns the built interface: index.html at its root and hashed files,
// which never change under the same name, in assets/. It never returns nil.
func Files() fs.FS {
	if built, err := fs.Sub(dist, "dist"); err == nil && fileExists(built, "index.html") {
		return built
	}
	page, err := fs.Sub(placeholder, "placeholder")
	if err != nil {
		return placeholder
	}
	return page
}

// Docs returns the documentation site; without make docs it is empty.
func Docs() fs.FS {
	built, err := fs.Sub(docs, "docs")
	if err != nil {
		return docs
	}
	return built
}

func fileExists(files fs.FS, name string) bool {
	_, err := fs.Stat(files, name)
	return err == nil
}
