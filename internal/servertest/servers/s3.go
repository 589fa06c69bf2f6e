package main

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/rclone/gofakes3"
	"github.com/rclone/gofakes3/s3mem"
	"github.com/rclone/gofakes3/signature"
)

// s3 is an S3 server in memory.
type s3 struct {
	Host, AccessKey, SecretKey string `json:",omitempty"`

	backend *s3mem.Backend
	inner   http.Handler
}

func startS3(options []byte) (server, error) {
	s := &s3{backend: s3mem.New()}
	if err := json.Unmarshal(options, s); err != nil {
		return server{}, err
	}
	s.inner = gofakes3.New(s.backend).Server()
	address, err := serveHandler(s.Host, s)
	control := http.NewServeMux()
	control.HandleFunc("/put", s.put)
	control.HandleFunc("/buckets", s.buckets)
	return server{ready: map[string]string{"URL": "http://" + address}, control: control}, err
}

// ServeHTTP checks signatures itself, since the library takes an empty delimiter, which
// clients send to list everything, for a delimiter; it must go, but only after the check.
func (s *s3) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	lookup := func(key string) (string, bool) { return s.SecretKey, key == s.AccessKey }
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

func (s *s3) put(w http.ResponseWriter, r *http.Request) {
	var object struct{ Bucket, Name, Content string }
	err := json.NewDecoder(r.Body).Decode(&object)
	if err == nil {
		_, err = s.backend.PutObject(r.Context(), object.Bucket, object.Name, map[string]string{},
			strings.NewReader(object.Content), int64(len(object.Content)))
	}
	writeAnswer(w, nil, err)
}

func (s *s3) buckets(w http.ResponseWriter, r *http.Request) {
	all, err := s.backend.ListBuckets(r.Context())
	names := []string{}
	for _, bucket := range all {
		names = append(names, bucket.Name)
	}
	slices.Sort(names)
	writeAnswer(w, names, err)
}
