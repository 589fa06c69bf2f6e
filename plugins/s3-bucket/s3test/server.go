// Package s3test is an S3 server in memory, from the Go ecosystem, that checks
// the signature of every request.
package s3test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/rclone/gofakes3"
	"github.com/rclone/gofakes3/s3mem"
	"github.com/rclone/gofakes3/signature"
)

// The only keys that the server knows.
const (
	AccessKey = "the-access-key"
	SecretKey = "the-secret-key-0123456789"
)

// Server holds buckets until its test ends.
type Server struct {
	// URL is where it answers.
	URL string

	backend *s3mem.Backend
	inner   http.Handler
}

// New starts a server on an address of this machine.
func New(t testing.TB, host string) *Server {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	backend := s3mem.New()
	s := &Server{backend: backend, inner: gofakes3.New(backend).Server()}
	server := httptest.NewUnstartedServer(s)
	_ = server.Listener.Close() // the one on loopback
	server.Listener = l
	server.Start()
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// ServeHTTP calls the server's own check of signatures by hand, since the server
// takes an empty delimiter, which clients send to list everything, for a
// delimiter; it must go, but only after the check.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	lookup := func(key string) (string, bool) { return SecretKey, key == AccessKey }
	if result := signature.V4SignVerifyWithLookup(r, lookup); result != signature.ErrNone {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	query := r.URL.Query()
	if query.Get("delimiter") == "" {
		query.Del("delimiter")
		r.URL.RawQuery = query.Encode()
	}
	s.inner.ServeHTTP(w, r)
}

// Put stores an object, past the door.
func (s *Server) Put(ctx context.Context, bucket, name, content string) error {
	_, err := s.backend.PutObject(ctx, bucket, name, map[string]string{},
		strings.NewReader(content), int64(len(content)))
	return err
}

// Buckets names all that there are, past the door.
func (s *Server) Buckets(ctx context.Context) ([]string, error) {
	all, err := s.backend.ListBuckets(ctx)
	var names []string
	for _, bucket := range all {
		names = append(names, bucket.Name)
	}
	slices.Sort(names)
	return names, err
}
