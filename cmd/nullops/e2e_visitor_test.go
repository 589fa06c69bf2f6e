package main_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// visitor opens URLs twice a second, wherever the ingress is.
type visitor struct {
	ingress atomic.Pointer[string]
	visits  atomic.Int64

	mu       sync.Mutex
	failures []string
}

func (u *upgraded) startVisitor(t *testing.T) *visitor {
	t.Helper()
	v := &visitor{}
	address := u.ingressAddr
	v.ingress.Store(&address)
	transport := &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", *v.ingress.Load())
		}}
	urls := map[string]string{}
	for _, name := range []string{"open", "tested"} {
		urls[u.nodeOf(t, name).name] = serviceURL(t, u.made[name], "web") + "/healthz"
		u.answers(t, serviceURL(t, u.made[name], "web"))
	}
	if len(urls) != 2 {
		t.Fatalf("the visitor needs a deployment on each node, and has %v", urls)
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for node, url := range urls {
		running.Go(func() { v.visitUntil(ctx, &http.Client{Transport: transport}, node, url) })
	}
	t.Cleanup(func() { stop(); running.Wait() })
	return v
}

func (v *visitor) visitUntil(ctx context.Context, client *http.Client, node, url string) {
	for ticker := time.NewTicker(500 * time.Millisecond); ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		began := time.Now()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		var response *http.Response
		if err == nil {
			response, err = client.Do(r)
		}
		if ctx.Err() != nil {
			return
		}
		failure := ""
		if err != nil {
			failure = err.Error()
		} else if response.StatusCode != http.StatusOK {
			failure = response.Status + " " + response.Header.Get("Nullops-Page")
		}
		if err == nil {
			_ = response.Body.Close()
		}
		v.visits.Add(1)
		if failure != "" {
			v.mu.Lock()
			v.failures = append(v.failures, fmt.Sprintf("%s after %s: node %s: %s",
				began.Format("15:04:05.000"), time.Since(began), node, failure))
			v.mu.Unlock()
		}
	}
}

// mustGoOn waits for some more visits.
func (v *visitor) mustGoOn(t *testing.T) {
	t.Helper()
	enough := v.visits.Load() + 6
	eventually(t, "the visitor goes on", func() string {
		if n := v.visits.Load(); n < enough {
			return fmt.Sprintf("%d of %d visits", n, enough)
		}
		return ""
	})
}

func (v *visitor) checkFailures(t *testing.T) {
	t.Helper()
	v.mu.Lock()
	defer v.mu.Unlock()
	// promise: R-03
	if len(v.failures) > 0 {
		t.Errorf("%d of %d visits failed during the upgrade:\n%s", len(v.failures), v.visits.Load(),
			strings.Join(v.failures, "\n"))
	}
}
