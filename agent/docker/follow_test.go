package docker_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/internal/testpart"
)

// sleepyEngine stands before a real engine. What follows a log through it hears
// nothing more once fall was called, as from an engine that missed to wake up.
type sleepyEngine struct {
	host string
	// naps counts the calls of fall; a follower that began before the last one
	// sleeps.
	naps    atomic.Int32
	follows atomic.Int32
	// cuts counts how often everything that follows was ended.
	cuts atomic.Int32
}

func newSleepyEngine(t *testing.T, host string) *sleepyEngine {
	t.Helper()
	e := &sleepyEngine{}
	proxy := engineProxy(host)
	proxy.ModifyResponse = e.lull
	e.host = standBefore(t, proxy)
	return e
}

// engineProxy hands everything on to the engine.
func engineProxy(host string) *httputil.ReverseProxy {
	dialer := &net.Dialer{}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return dialer.DialContext(ctx, "unix", strings.TrimPrefix(host, "unix://"))
	}
	return &httputil.ReverseProxy{FlushInterval: -1,
		Transport: &http.Transport{DialContext: dial},
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: "engine"})
		}}
}

// standBefore serves for the test, and returns the address of the engine that it is.
func standBefore(t *testing.T, engine http.Handler) string {
	t.Helper()
	socket := filepath.Join(dockertest.RunDir(t), "engine.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: engine, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	return "unix://" + socket
}

func (e *sleepyEngine) fall() { e.naps.Add(1) }

func (e *sleepyEngine) lull(r *http.Response) error {
	q := r.Request.URL.Query()
	if strings.HasSuffix(r.Request.URL.Path, "/logs") && q.Get("follow") == "1" {
		e.follows.Add(1)
		r.Body = &sleeper{ReadCloser: r.Body, engine: e, began: e.naps.Load(), cut: e.cuts.Load()}
	}
	return nil
}

// sleeper reads what comes and answers nothing.
type sleeper struct {
	io.ReadCloser
	engine *sleepyEngine
	began  int32
	cut    int32
}

func (s *sleeper) Read(p []byte) (int, error) {
	for {
		n, err := s.ReadCloser.Read(p)
		if s.engine.cuts.Load() != s.cut {
			return 0, io.EOF
		}
		if err != nil || s.engine.naps.Load() == s.began {
			return n, err
		}
	}
}

// An engine that forgets to tell of new lines, or ends what follows while the
// container runs, is asked again: each line comes, and comes once.
func TestLogs_FollowOutlivesASleepingEngine(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	e := newSleepyEngine(t, dockertest.Host(t))
	r := newRigOn(t, e.host)
	id := r.deployment()
	r.start(r.service(id, "web"))
	logs, err := r.Logs(t.Context(), id, "web", agent.LogOptions{Follow: true, Tail: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = logs.Close() }()
	lines := make(chan string, 10000)
	go func() {
		defer close(lines)
		for in := bufio.NewScanner(logs); in.Scan(); {
			if _, line, _ := strings.Cut(in.Text(), " "); strings.HasPrefix(line, "printed") {
				lines <- line
			}
		}
	}()
	printed := 0
	say := func(n int) {
		t.Helper()
		r.get(id, "web", fmt.Sprintf("/print?from=%d&to=%d", printed+1, printed+n))
		seen := map[string]bool{}
		deadline := time.After(90 * time.Second)
		for range n {
			select {
			case line := <-lines:
				seen[line] = true
			case <-deadline:
				t.Fatalf("of %d lines %d came; followed %d times", n, len(seen), e.follows.Load())
			}
		}
		for i := printed + 1; i <= printed+n; i++ {
			if !seen[fmt.Sprint("printed ", i)] {
				t.Errorf("line %d is missing; something came twice", i)
			}
		}
		printed += n
	}
	say(3)
	e.fall()
	say(1)
	say(2000)
	e.fall()
	say(5)
	e.cuts.Add(1)
	say(4)
	if n := e.follows.Load(); n < 4 {
		t.Errorf("it was followed %d times; the engine did not sleep or cut", n)
	}
	select {
	case line := <-lines:
		t.Errorf("%q came twice", line)
	case <-time.After(100 * time.Millisecond):
	}
}
