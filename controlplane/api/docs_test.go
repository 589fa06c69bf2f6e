package api_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/nullops/nullops/controlplane/api"
)

// The documentation is served below /docs as pages and as the Markdown they were made of, to
// everybody, with and without compression.
func TestDocs_AreServedAsPagesAndAsMarkdown(t *testing.T) {
	packed := func(text string) *fstest.MapFile {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := io.WriteString(z, text); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return &fstest.MapFile{Data: b.Bytes()}
	}
	site := fstest.MapFS{"index.html.gz": packed("<h1>NullOps</h1>"),
		"steps.html.gz": packed("<h1>Steps</h1>"), "steps.md.gz": packed("# Steps"),
		"reference/api.html.gz": packed("<h1>API</h1>"), "404.html.gz": packed("<h1>Not here</h1>"),
		"llms.txt.gz": packed("- [Steps](/docs/steps.md)"), "assets/app.1.js": {Data: []byte("1")}}
	handler := api.NewDocs(site)
	for _, c := range []struct {
		path, says, media, cache string
		status                   int
	}{
		{"/docs/", "<h1>NullOps", "text/html", "no-cache", 200},
		{"/docs/steps", "<h1>Steps", "text/html", "no-cache", 200},
		{"/docs/steps.md", "# Steps", "text/markdown", "no-cache", 200},
		{"/docs/reference/api", "<h1>API", "text/html", "no-cache", 200},
		{"/llms.txt", "/docs/steps.md", "text/plain", "no-cache", 200},
		{"/docs/assets/app.1.js", "1", "text/javascript", "immutable", 200},
		{"/docs/nothing", "<h1>Not here", "text/html", "no-cache", 404},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, c.path, nil)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.says) ||
			!strings.HasPrefix(w.Header().Get("Content-Type"), c.media) ||
			!strings.Contains(w.Header().Get("Cache-Control"), c.cache) {
			t.Errorf("%s: %d %v %s", c.path, w.Code, w.Header(), w.Body)
		}
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/docs/steps", nil)
	r.Header.Set("Accept-Encoding", "gzip")
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	if w.Header().Get("Content-Encoding") != "gzip" {
		t.Errorf("asked for gzip: %v", w.Header())
	}
	w = httptest.NewRecorder()
	api.NewDocs(fstest.MapFS{}).ServeHTTP(w, r)
	if w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "make docs") {
		t.Errorf("without the site: %d %s", w.Code, w.Body)
	}
}
