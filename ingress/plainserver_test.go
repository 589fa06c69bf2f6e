package ingress_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/nullops/nullops/ingress"
)

// newQuickServer ends what a client leaves unfinished soon.
func newQuickServer(h http.Handler) *ingress.Server {
	s := ingress.NewServer(h, quietLogger())
	s.ReadHeaderTimeout, s.ReadTimeout = 500*time.Millisecond, 500*time.Millisecond
	s.IdleTimeout = 300 * time.Millisecond
	return s
}

// serveNetHTTP serves with net/http's server alone.
func serveNetHTTP(t *testing.T, s *ingress.Server) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	done.Go(func() { _ = s.Server.Serve(l) })
	t.Cleanup(func() { _ = s.Server.Close(); done.Wait() })
	return l.Addr().String()
}

// readAnswers reads what a client reads, without what differs each time.
func readAnswers(out, method string) []string {
	var found []string
	in := bufio.NewReader(strings.NewReader(out))
	for {
		res, err := http.ReadResponse(in, &http.Request{Method: method})
		if errors.Is(err, io.ErrUnexpectedEOF) && in.Buffered() == 0 {
			return found
		}
		if err != nil {
			return append(found, err.Error())
		}
		body, err := io.ReadAll(res.Body)
		delete(res.Header, "Date")
		delete(res.Header, "X-Request-Id")
		// Whether a long body has a length or chunks is the server's affair.
		if res.Header.Get("Content-Length") == fmt.Sprint(len(body)) && method != "HEAD" {
			delete(res.Header, "Content-Length")
		}
		found = append(found, fmt.Sprintf("%d %v %q close=%v trailer=%v %v", res.StatusCode, res.Header,
			body, res.Close, res.Trailer, err))
	}
}

// Whatever a handler does, the client reads what it reads of net/http's server.
func TestServer_AnswersAsNetHTTP(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789abcdef", 4<<10)
	write := func(w http.ResponseWriter, texts ...string) {
		for _, text := range texts {
			_, _ = io.WriteString(w, text)
		}
	}
	handlers := map[string]http.HandlerFunc{
		"nothing": func(http.ResponseWriter, *http.Request) {},
		"short":   func(w http.ResponseWriter, _ *http.Request) { write(w, "a", "", "b") },
		"long":    func(w http.ResponseWriter, _ *http.Request) { write(w, "a", long, "b", long) },
		"length": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "5")
			write(w, "hello")
		},
		"long length": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(2*len(long)))
			write(w, long, long)
		},
		"too short": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "9")
			write(w, "hello")
		},
		"too long": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "5")
			write(w, "hello", "more")
		},
		"no length": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "five")
			write(w, "hello")
		},
		"flushed": func(w http.ResponseWriter, _ *http.Request) {
			flow := http.NewResponseController(w)
			write(w, "a")
			_ = flow.Flush()
			_ = flow.Flush()
			write(w, "b", long)
		},
		"flushed head": func(w http.ResponseWriter, _ *http.Request) {
			_ = http.NewResponseController(w).Flush()
		},
		"status": func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["X"] = []string{"a", "b\r\nc: d", " e "}
			w.Header()["X Y"] = []string{"no"}
			w.WriteHeader(http.StatusTeapot)
			w.Header().Set("X", "late")
			w.WriteHeader(http.StatusOK)
		},
		"odd status": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(799) },
		"204": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "5")
			w.WriteHeader(http.StatusNoContent)
			write(w, "hello")
		},
		"304": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "5")
			w.Header().Set("Content-Type", "a/b")
			w.Header().Set("ETag", "x")
			w.WriteHeader(http.StatusNotModified)
		},
		"hints": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Link", "</a>")
			w.WriteHeader(http.StatusEarlyHints)
			write(w, "hello")
		},
		"trailer": func(w http.ResponseWriter, _ *http.Request) {
			write(w, "hello")
			_ = http.NewResponseController(w).Flush()
			w.Header().Set(http.TrailerPrefix+"Sum", "42")
		},
		"close": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Connection", "close")
			write(w, "hello")
		},
		"abort": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "9")
			write(w, "hello")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		},
		"bug": func(w http.ResponseWriter, _ *http.Request) { panic("a bug") },
		"read from": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(len(long)))
			_, _ = io.Copy(w, strings.NewReader(long))
		},
		"read from, no length": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.Copy(w, strings.NewReader(long))
		},
	}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Content-Type"] = nil // as for every answer of a service
		handlers[r.Header.Get("Name")](w, r)
	})
	ours := serveLoopback(t, newQuickServer(handler))
	theirs := serveNetHTTP(t, newQuickServer(handler))
	for name := range handlers {
		for _, method := range []string{"GET", "HEAD", "OPTIONS"} {
			if name == "no length" && method == http.MethodHead {
				continue // net/http's server passes it on
			}
			for _, connection := range []string{"close", "keep-alive"} {
				t.Run(name+" "+method+" "+connection, func(t *testing.T) {
					t.Parallel()
					request := method + " / HTTP/1.1\r\nHost: a\r\nName: " + name + "\r\n"
					if connection != "close" {
						request += "\r\n" + request
					}
					request += "Connection: close\r\n\r\n"
					got, want := sendRaw(t, ours, request), sendRaw(t, theirs, request)
					have, wanted := readAnswers(got, method), readAnswers(want, method)
					if !reflect.DeepEqual(have, wanted) {
						t.Errorf("answers\n%.600q, and net/http\n%.600q", have, wanted)
					}
				})
			}
		}
	}
}

// listRequests are the requests that a service has read, without what differs each time.
func (r *recorder) listRequests() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []string
	for _, q := range r.requests {
		found = append(found, fmt.Sprintf("%s %s %s %v", q.Method, q.RequestURI, q.Host, q.Header))
	}
	return found
}

// Requests of which somebody else may see more, or others, are accepted and refused as by
// net/http's server, and the service reads the same.
//
// threat: T31
func TestServer_HostileRequestsAsWithNetHTTP(t *testing.T) {
	t.Parallel()
	all := hostileRequests()
	maps.Copy(all, readHostileList(t))
	for _, also := range []string{"GET /a HTTP/1.1\r\nHost: " + victim + "\r\n\r\n" + smuggled,
		"HEAD / HTTP/1.1\r\nHost: " + victim + "\r\n\r\nPOST / HTTP/1.1\r\nHost: " + victim +
			"\r\nContent-Length: 2\r\n\r\nok" + smuggled} {
		all["plain "+also] = also
	}
	var group errgroup.Group
	group.SetLimit(32) // most of the time is the wait for the end of a connection
	for name, bytes := range all {
		group.Go(func() error {
			compareWithNetHTTP(t, name, bytes)
			return nil
		})
	}
	_ = group.Wait()
}

// compareWithNetHTTP sends bytes to both servers, each in front of a service of its own.
func compareWithNetHTTP(t *testing.T, name, bytes string) {
	t.Helper()
	ask := func(serve func(*testing.T, *ingress.Server) string) ([]int, []string) {
		rec := newRecorder(t)
		b := newBed(t)
		r := b.at("cart", "web", rec.addr)
		b.set(r)
		out := sendRaw(t, serve(t, newQuickServer(b.proxy)), bytes)
		b.proxy.Close()
		rec.wait(b.countDials(r.Target))
		return readStatuses(out), rec.listRequests()
	}
	// On a busy machine a server may pass its time limit and answer less, but not thrice.
	var failure string
	for range 3 {
		statuses, requests := ask(serveLoopback)
		wanted, same := ask(serveNetHTTP)
		if (isSameRefusal(statuses, wanted) || reflect.DeepEqual(statuses, wanted)) &&
			reflect.DeepEqual(requests, same) {
			return
		}
		failure = fmt.Sprintf("%s: answered %v with %q out, and net/http %v with %q", name, statuses,
			requests, wanted, same)
		if len(statuses) == len(wanted) && len(requests) == len(same) {
			break
		}
	}
	t.Error(failure)
}

// Whatever comes, both servers answer the same and the service reads the same.
//
// threat: T31
func FuzzServer(f *testing.F) {
	const last = "GET /last HTTP/1.1\r\nHost: " + victim + "\r\nConnection: close\r\n\r\n"
	for _, seed := range []string{"", "GET /a HTTP/1.1\r\nHost: " + victim + "\r\n\r\n",
		"OPTIONS /a HTTP/1.1\r\nhost: " + victim + ":80\r\nCookie: nullops_pass=x; a=b\r\n" +
			"TE: trailers\r\nKeep-Alive: 5\r\nX-Forwarded-For: 1.1.1.1\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: " + victim + "\r\nContent-Length: 2\r\n\r\nok"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) { compareWithNetHTTP(t, "fuzzed", string(b)+last) })
}

// isSameRefusal allows for a refusal that is lost, because its connection ended before all that the
// client had sent was read.
func isSameRefusal(a, b []int) bool {
	return len(a) == 0 && len(b) == 1 && b[0] >= 400 || len(b) == 0 && len(a) == 1 && a[0] >= 400
}

// One connection carries requests of both kinds, and of several at once, in their order.
func TestServer_MixedRequestsOnOneConnection(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.set(b.up("cart", "web", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(w, "%s %s %s", r.Method, r.URL.Path, body)
	}))
	get := func(path string) string {
		return "GET " + path + " HTTP/1.1\r\nHost: " + victim + "\r\n\r\n"
	}
	post := func(path, body string) string {
		return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n%s", path, victim,
			len(body), body)
	}
	for _, apart := range []bool{true, false} {
		c, err := net.Dial("tcp", b.addr)
		if err != nil {
			t.Fatal(err)
		}
		in := bufio.NewReader(c)
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		all := []string{get("/1"), get("/2"), post("/3", strings.Repeat("x", 20<<10)), get("/4"),
			post("/5", "y")}
		if !apart {
			if _, err := io.WriteString(c, strings.Join(all, "")); err != nil {
				t.Fatal(err)
			}
		}
		for i, one := range all {
			if apart {
				if _, err := io.WriteString(c, one); err != nil {
					t.Fatal(err)
				}
			}
			res, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(res.Body)
			method, _, _ := strings.Cut(one, " ")
			if want := fmt.Sprintf("%s /%d ", method, i+1); err != nil ||
				!strings.HasPrefix(string(body), want) {
				t.Errorf("%.40q, %v, want %q", body, err, want)
			}
		}
		_ = c.Close()
	}
}

// A head may come in pieces, but not slowly; and a connection without a request ends.
//
// threat: T34
func TestServer_BoundsTheWaitForAHead(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.set(b.up("cart", "web", sayText("hello")))
	s := ingress.NewServer(b.proxy, quietLogger())
	s.ReadHeaderTimeout, s.IdleTimeout = time.Second, 2*time.Second
	addr := serveLoopback(t, s)
	request := "GET / HTTP/1.1\r\nHost: " + victim + "\r\n\r\n"
	const second = time.Second
	nearly := func(d time.Duration) time.Duration { return d - second/10 }
	for name, one := range map[string]struct {
		pieces []string
		pause  time.Duration
		out    string
		from   time.Duration // the connection does not end before
	}{
		"silent":    {nil, 0, "", nearly(second)},
		"half":      {[]string{request[:20]}, 0, "", nearly(second)},
		"slow":      {strings.SplitAfter(request, ""), second / 10, "", nearly(second)},
		"in pieces": {strings.SplitAfter(request, "/"), second / 20, "hello", nearly(2 * second)},
		"whole":     {[]string{request}, 0, "hello", nearly(2 * second)},
		"two":       {[]string{request, request}, second, "hello", nearly(3 * second)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			began := time.Now()
			_ = c.SetDeadline(began.Add(time.Minute))
			go func() {
				for _, piece := range one.pieces {
					if _, err := io.WriteString(c, piece); err != nil {
						return
					}
					time.Sleep(one.pause)
				}
			}()
			out, _ := io.ReadAll(c)
			if took := time.Since(began); took < one.from || took > one.from+10*time.Second ||
				!strings.HasSuffix(string(out), one.out) || one.out == "" && len(out) > 0 {
				t.Errorf("it ended after %v with %q", took, out)
			}
		})
	}
}

// A shutdown answers the requests that there are, closes idle connections, and takes no more.
func TestServer_ShutdownAnswersRequests(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}), make(chan struct{})
	s := ingress.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			arrived <- struct{}{}
			<-release
		}
		_, _ = io.WriteString(w, "hello")
	}), quietLogger())
	addr := serveLoopback(t, s)
	open := func(path string) (net.Conn, *bufio.Reader) {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			_ = c.SetDeadline(time.Now().Add(time.Minute))
			_, err = io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: a\r\n\r\n")
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c, bufio.NewReader(c)
	}
	_, idle := open("/")
	if _, err := http.ReadResponse(idle, nil); err != nil {
		t.Fatal(err)
	}
	_, slow := open("/slow")
	<-arrived
	ended := make(chan error, 1)
	go func() { ended <- s.Shutdown(t.Context()) }()
	if _, err := io.Copy(io.Discard, idle); err != nil {
		t.Errorf("the idle connection: %v", err)
	}
	// Idle connections are closed first, and the listener right after them.
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		late, err := net.Dial("tcp", addr)
		if err != nil {
			break
		}
		_ = late.Close()
		if time.Now().After(end) {
			t.Fatal("connections are still accepted")
		}
	}
	select {
	case err := <-ended:
		t.Fatalf("the shutdown ended with a request under way: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	close(release)
	res, err := http.ReadResponse(slow, nil)
	if err != nil || !res.Close {
		t.Fatalf("%+v, %v", res, err)
	}
	if body, err := io.ReadAll(res.Body); err != nil || string(body) != "hello" {
		t.Errorf("%q %v", body, err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// Close ends requests too, and what is done for them.
func TestServer_CloseEndsRequests(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	arrived := make(chan struct{})
	s := ingress.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-r.Context().Done()
		ended <- r.Context().Err()
	}), quietLogger())
	addr := serveLoopback(t, s)
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	<-arrived
	_ = s.Close()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	if out, _ := io.ReadAll(c); len(out) > 0 {
		t.Errorf("%q", out)
	}
}

// A client that leaves during a request ends it, also one that had sent its next request already;
// and one that stays is served on, however long a request took.
func TestServer_WatchesClientsOfLongRequests(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	ended := make(chan struct{}, 8)
	s := ingress.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		select {
		case <-r.Context().Done():
			ended <- struct{}{}
		case <-time.After(1500 * time.Millisecond):
			_, _ = io.WriteString(w, "hello")
		}
	}), quietLogger())
	addr := serveLoopback(t, s)
	request := []byte("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	for _, half := range []bool{false, true} {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write(request); err != nil {
			t.Fatal(err)
		}
		if half {
			_ = c.(*net.TCPConn).CloseWrite() // net/http takes that for its leaving, too
		} else {
			_ = c.Close()
		}
		select {
		case <-ended:
		case <-time.After(time.Minute):
			t.Fatal("the request went on without its client")
		}
		_ = c.Close()
	}
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	in := bufio.NewReader(c)
	before := asked.Load()
	for i, n := range []int{1, 2} { // requests that are sent together
		if _, err := c.Write(bytes.Repeat(request, n)); err != nil {
			t.Fatal(err)
		}
		for range n {
			res, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatal(i, err)
			}
			if body, err := io.ReadAll(res.Body); err != nil || string(body) != "hello" {
				t.Errorf("%q %v", body, err)
			}
		}
	}
	if n := asked.Load() - before; n != 3 {
		t.Errorf("%d requests for 3", n)
	}
}
