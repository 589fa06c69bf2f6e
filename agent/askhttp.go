package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/nullops/nullops/pipeline"
)

// AskHTTP makes one readiness check by HTTP, for every Runtime, over a connection that dial makes.
// It returns what a ready service answered; the error of one that is not ready says what it
// answered. It follows no redirect: a login page elsewhere proves nothing, while the redirect
// itself shows that the service answers.
func AskHTTP(ctx context.Context, service pipeline.StepKey, p pipeline.HTTPProbe,
	dial func(context.Context) (net.Conn, error)) (detail string, err error) {
	transport := &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }}
	defer transport.CloseIdleConnections()
	path := cmp.Or(p.Path, "/")
	url := "http://" + net.JoinHostPort(string(service), strconv.Itoa(p.Port)) + path
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	request.Header.Set("User-Agent", "nullops-probe")
	response, err := transport.RoundTrip(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	detail = fmt.Sprintf("GET %s on port %d answered %d", path, p.Port, response.StatusCode)
	if said := readAnswer(response); said != "" {
		detail += ": " + said
	}
	if response.StatusCode == p.Status ||
		p.Status == 0 && response.StatusCode < http.StatusBadRequest {
		return detail, nil
	}
	return "", errors.New(detail)
}

// readAnswer returns the beginning of a response if it is readable text, so no HTML.
func readAnswer(r *http.Response) string {
	text, _ := io.ReadAll(io.LimitReader(r.Body, ProbeOutput))
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind == "text/plain" || strings.HasSuffix(kind, "json") {
		return string(text)
	}
	return ""
}
