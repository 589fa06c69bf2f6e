package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/nullops/nullops/plugins/packaging"
)

// runServe serves a registry from the data folder until it receives a signal.
func runServe(ctx context.Context, o options, out io.Writer) error {
	handler, err := newRegistry(o.data)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", o.listen, err)
	}
	_, _ = fmt.Fprintf(out, "registry on %s, data in %s\n", listener.Addr(), o.data)
	srv := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return srv.Shutdown(ctx)
}

// diskRegistry is a registry whose manifests outlive it. The library keeps
// blobs on disk but manifests in memory, so each accepted manifest is written
// to a file as well, and all files are put again when it starts.
type diskRegistry struct {
	inner http.Handler
	dir   string
}

// maxManifest is what the library's own limit is in other registries: 4 MiB.
const maxManifest = 4 << 20

func newRegistry(data string) (http.Handler, error) {
	blobs := filepath.Join(data, "blobs")
	if err := os.MkdirAll(blobs, 0o755); err != nil {
		return nil, fmt.Errorf("make the registry's folder: %w", err)
	}
	r := diskRegistry{
		inner: registry.New(registry.WithBlobHandler(registry.NewDiskBlobHandler(blobs)),
			registry.Logger(slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo))),
		dir: filepath.Join(data, "manifests"),
	}
	return r, r.restore()
}

// ServeHTTP passes everything on and keeps what was put.
func (r diskRegistry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	_, _, isManifest := strings.Cut(req.URL.Path, "/manifests/")
	if req.Method != http.MethodPut || !isManifest {
		r.inner.ServeHTTP(w, req)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxManifest))
	if err != nil {
		http.Error(w, "the manifest is too large", http.StatusRequestEntityTooLarge)
		return
	}
	answer := r.put(req.URL.Path, req.Header.Get("Content-Type"), body)
	if answer.Code == http.StatusCreated {
		if err := r.keep(req.URL.Path, req.Header.Get("Content-Type"), body); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	_, _ = answer.Body.WriteTo(w) // the client has gone
}

func (r diskRegistry) put(path, contentType string, body []byte) *httptest.ResponseRecorder {
	req := httptest.NewRequest(http.MethodPut, "http://registry"+path, bytes.NewReader(body))
	req.Header.Set("Content-Type", contentType)
	answer := httptest.NewRecorder()
	r.inner.ServeHTTP(answer, req)
	return answer
}

// keep writes the content type as the first line and the manifest after it.
func (r diskRegistry) keep(path, contentType string, body []byte) error {
	name := filepath.Join(r.dir, filepath.FromSlash(strings.TrimPrefix(path, "/v2/")))
	if !strings.HasPrefix(name, r.dir+string(filepath.Separator)) {
		return fmt.Errorf("the path %q leaves the registry", path)
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return fmt.Errorf("keep a manifest: %w", err)
	}
	return packaging.ReplaceFile(name, append([]byte(contentType+"\n"), body...))
}

// restore puts every kept manifest again. An index may come before what it
// lists, so what failed is tried once more at the end.
func (r diskRegistry) restore() error {
	var later []string
	err := filepath.WalkDir(r.dir, func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), "unfinished-") {
			return err
		}
		if r.load(name) != nil {
			later = append(later, name)
		}
		return nil
	})
	for _, name := range later {
		err = errors.Join(err, r.load(name))
	}
	if err != nil {
		return fmt.Errorf("restore the registry: %w", err)
	}
	return nil
}

func (r diskRegistry) load(name string) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	contentType, body, _ := bytes.Cut(data, []byte("\n"))
	rel, err := filepath.Rel(r.dir, name)
	if err != nil {
		return err
	}
	answer := r.put("/v2/"+filepath.ToSlash(rel), string(contentType), body)
	if answer.Code != http.StatusCreated {
		return fmt.Errorf("%s: the registry answered %d", rel, answer.Code)
	}
	return nil
}
