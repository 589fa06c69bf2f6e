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

func fileExists(files fs.FS, name string) bool {
	_, err := fs.Stat(files, name)
	return err == nil
}
