package acme

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// maxDirectory bounds a list of ten addresses.
const maxDirectory = 64 << 10

// fetchDirectory reads an authority's directory before the library does, which would
// hold a global lock meanwhile: one authority that never answers would block the
// orders at all others.
func (o *Orderer) fetchDirectory(
	ctx context.Context, address string, through http.RoundTripper,
) (cachedDirectory, error) {
	k := cachedDirectory{RoundTripper: through}
	ctx, cancel := context.WithTimeout(ctx, o.Patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return k, fmt.Errorf("the authority's directory: %w", err)
	}
	r.Header.Set("User-Agent", "NullOps")
	k.url = r.URL.String()
	answer, err := (&http.Client{Transport: through}).Do(r)
	if err == nil {
		k.status, k.header = answer.StatusCode, answer.Header
		k.body, err = io.ReadAll(io.LimitReader(answer.Body, maxDirectory))
		err = errors.Join(err, answer.Body.Close())
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return k, fmt.Errorf("%s did not answer within %s", address, o.Patience)
	}
	if err != nil {
		return k, fmt.Errorf("the authority's directory: %w", err)
	}
	return k, nil
}

// cachedDirectory answers requests for the directory with the one that was read.
type cachedDirectory struct {
	http.RoundTripper
	url    string
	status int
	header http.Header
	body   []byte
}

var _ http.RoundTripper = cachedDirectory{}

// RoundTrip implements http.RoundTripper.
func (k cachedDirectory) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet || r.URL.String() != k.url {
		return k.RoundTripper.RoundTrip(r)
	}
	return &http.Response{Status: http.StatusText(k.status), StatusCode: k.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: k.header.Clone(),
		Body: io.NopCloser(bytes.NewReader(k.body)), ContentLength: int64(len(k.body)),
		Request: r}, nil
}
