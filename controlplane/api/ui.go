package api

import (
	"bytes"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"
)

// pages serves the built interface. A path that is no file is a place inside
// the interface, whose router knows it: it gets index.html.
type pages struct{ files fs.FS }

func newPages(files fs.FS) http.Handler { return pages{files} }

func (p pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "pages are only read", http.StatusMethodNotAllowed)
		return
	}
	name := strings.TrimPrefix(path.Clean("/"+r.URL.Path), "/")
	body, found := p.read(name)
	switch {
	case found && name != "index.html":
		w.Header().Set("Cache-Control", cacheControl(name))
	case strings.HasPrefix(name, "assets/"):
		// An old page asks for a file of its own build: the start page in its
		// place would be a script full of HTML.
		http.NotFound(w, r)
		return
	default:
		name = "index.html"
		if body, found = p.read(name); !found {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
	}
	w.Header().Set("Content-Type", contentType(name))
	if packed, ok := p.read(name + ".gz"); ok {
		w.Header().Set("Vary", "Accept-Encoding")
		if takesGzip(r.Header) {
			w.Header().Set("Content-Encoding", "gzip")
			body = packed
		}
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

func (p pages) read(name string) ([]byte, bool) {
	if p.files == nil || !fs.ValidPath(name) {
		return nil, false
	}
	body, err := fs.ReadFile(p.files, name)
	return body, err == nil
}

// takesGzip says whether a client reads gzip: it names it, and not with a quality
// of zero (RFC 9110, section 12.5.3).
func takesGzip(h http.Header) bool {
	for part := range strings.SplitSeq(strings.Join(h.Values("Accept-Encoding"), ","), ",") {
		coding, quality, _ := strings.Cut(strings.ReplaceAll(part, " ", ""), ";q=")
		if strings.EqualFold(coding, "gzip") {
			return quality == "" || strings.Trim(quality, "0.") != ""
		}
	}
	return false
}

// cacheControl caches files forever that have their content's hash in their name.
func cacheControl(name string) string {
	if strings.HasPrefix(name, "assets/") {
		return "public, max-age=31536000, immutable"
	}
	return "no-cache"
}

// contentType does not depend on the machine's own table for what matters.
func contentType(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".js", ".mjs":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".woff2":
		return "font/woff2"
	case ".json", ".map":
		return "application/json"
	}
	if t := mime.TypeByExtension(path.Ext(name)); t != "" {
		return t
	}
	return "application/octet-stream"
}
