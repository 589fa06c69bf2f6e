//go:build chaos

package main_test

import (
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nullops/nullops/plugins/stdio"
)

// failingRegistry stands in front of the real one.
type failingRegistry struct {
	behind http.Handler
	// mode is how it fails; empty is not at all.
	mode atomic.Value
}

// newFailingRegistry returns it with its address.
func newFailingRegistry(t *testing.T, registry string) (r *failingRegistry, address string) {
	t.Helper()
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: registry})
	proxy.ErrorLog = log.New(io.Discard, "", 0) // it would tell of each answer that is cut
	r = &failingRegistry{behind: proxy}
	r.mode.Store("")
	proxy.ModifyResponse = func(a *http.Response) error {
		if r.mode.Load() == "registry cuts answers" {
			a.Body = &cutBody{ReadCloser: a.Body, left: a.ContentLength / 2}
		}
		return nil
	}
	proxy.ErrorHandler = func(http.ResponseWriter, *http.Request, error) {
		panic(http.ErrAbortHandler)
	}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	return r, server.Listener.Addr().String()
}

func (r *failingRegistry) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	switch r.mode.Load() {
	case "registry answers 429":
		w.Header().Set("Retry-After", "1")
		http.Error(w, "too many requests", http.StatusTooManyRequests)
		return
	case "registry answers 500":
		http.Error(w, "out of order", http.StatusInternalServerError)
		return
	case "registry is slow":
		select {
		case <-time.After(2 * time.Second):
		case <-request.Context().Done():
			return
		}
	}
	r.behind.ServeHTTP(w, request)
}

// cutBody ends in the middle.
type cutBody struct {
	io.ReadCloser
	left int64
}

func (b *cutBody) Read(to []byte) (int, error) {
	if b.left <= 0 {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := b.ReadCloser.Read(to[:min(int64(len(to)), b.left)])
	b.left -= int64(n)
	return n, err
}

// effect is one line of the book: a plugin did something that can be seen from outside.
type effect struct {
	Run                      stdio.Run
	Deployment, Action, Text string
}

// effects is an outside log, which containers of every node reach.
type effects struct {
	mu  sync.Mutex
	all []effect
}

func (e *effects) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var line effect
	if err := json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(&line); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	e.mu.Lock()
	e.all = append(e.all, line)
	e.mu.Unlock()
}

func (e *effects) list() []effect {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]effect{}, e.all...)
}
