package api

import (
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"
)

// docsPages serves the documentation site, which make docs builds: /docs/steps is a page,
// /docs/steps.md its Markdown. Texts are stored compressed only. The pages have nothing about this
// installation, so they need no sign-in.
type docsPages struct{ files fs.FS }

// NewDocs returns the handler of the site.
func NewDocs(files fs.FS) http.Handler { return docsPages{files} }

// isDocs reports whether a path belongs to the site.
func isDocs(address string) bool {
	return address == "/docs" || strings.HasPrefix(address, "/docs/") || address == "/llms.txt"
}

// ServeHTTP implements http.Handler.
func (d docsPages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "pages are only read", http.StatusMethodNotAllowed)
		return
	}
	if r.URL.Path == "/docs" {
		http.Redirect(w, r, "/docs/", http.StatusMovedPermanently)
		return
	}
	name := strings.TrimPrefix(path.Clean(strings.TrimPrefix(r.URL.Path, "/docs")), "/")
	if name == "" {
		name = "index"
	}
	status := http.StatusOK
	file, found := d.find(name)
	if !found {
		status = http.StatusNotFound
		if file, found = d.find("404"); !found {
			http.Error(w, "This program was built without its documentation: make docs builds it.",
				status)
			return
		}
	}
	file.serve(w, r, status)
}

// docsFile is one file of the site.
type docsFile struct {
	name   string
	body   []byte
	packed bool
}

// find looks a file up by its path: a page has none of its endings there.
func (d docsPages) find(name string) (f docsFile, found bool) {
	if d.files == nil || !fs.ValidPath(name) {
		return f, false
	}
	for _, place := range []string{name, name + ".html"} {
		if body, err := fs.ReadFile(d.files, place+".gz"); err == nil {
			return docsFile{place, body, true}, true
		}
		if body, err := fs.ReadFile(d.files, place); err == nil {
			return docsFile{place, body, false}, true
		}
	}
	return f, false
}

func (f docsFile) serve(w http.ResponseWriter, r *http.Request, status int) {
	h := w.Header()
	h.Set("Cache-Control", cacheControl(f.name))
	switch path.Ext(f.name) {
	case ".md":
		h.Set("Content-Type", "text/markdown; charset=utf-8")
	case ".txt":
		h.Set("Content-Type", "text/plain; charset=utf-8")
	default:
		h.Set("Content-Type", contentType(f.name))
	}
	body := f.body
	if f.packed {
		h.Set("Vary", "Accept-Encoding")
		if takesGzip(r.Header) {
			h.Set("Content-Encoding", "gzip")
		} else if plain, err := unpack(body); err == nil {
			body = plain
		}
	}
	if status != http.StatusOK {
		w.WriteHeader(status)
		_, _ = w.Write(body) // the client is gone
		return
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

func unpack(body []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}
