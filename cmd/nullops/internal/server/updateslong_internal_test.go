package server

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/gate"
	"github.com/nullops/nullops/ingress"
)

const (
	formerHost = "web.was--shop-12.qa.localhost"
	// downloadLines is how many lines a download has, one each 20 ms: it takes longer than the test.
	downloadLines = 200_000
)

// longAnswers are what an application serves for as long as the visitor wants it.
var longAnswers = map[string]func(w http.ResponseWriter, r *http.Request, build string){
	"/socket": func(w http.ResponseWriter, r *http.Request, build string) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer c.CloseNow()
		for {
			_, said, err := c.Read(r.Context())
			if err != nil {
				return
			}
			if err = c.Write(r.Context(), websocket.MessageText, append(said, build...)); err != nil {
				return
			}
		}
	},
	"/events": func(w http.ResponseWriter, r *http.Request, build string) {
		w.Header().Set("Content-Type", "text/event-stream")
		sendLines(w, r, "data: "+build+"\n")
	},
	"/download": func(w http.ResponseWriter, r *http.Request, build string) {
		w.Header().Set("Content-Length", fmt.Sprint(downloadLines*(len(build)+1)))
		sendLines(w, r, build+"\n")
	},
}

func sendLines(w http.ResponseWriter, r *http.Request, line string) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range downloadLines {
		if _, err := io.WriteString(w, line); err != nil {
			return
		}
		_ = http.NewResponseController(w).Flush()
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return
		}
	}
}

// longVisit is a visitor with an open WebSocket, a stream of events and a download.
type longVisit struct {
	t     *testing.T
	sock  *websocket.Conn
	lines map[string]*bufio.Reader
}

func (w *updateWorld) visitForLong(v *visitor, host string) *longVisit {
	w.t.Helper()
	l := &longVisit{t: w.t, lines: map[string]*bufio.Reader{}}
	var err error
	options := &websocket.DialOptions{HTTPClient: v.Client}
	//nolint:bodyclose // it is a socket's
	l.sock, _, err = websocket.Dial(w.t.Context(), "ws://"+host+"/socket", options)
	w.must(nil, err)
	w.t.Cleanup(func() { _ = l.sock.CloseNow() })
	for _, path := range []string{"/events", "/download"} {
		res, err := v.Get("http://" + host + path)
		w.must(nil, err)
		w.t.Cleanup(func() { _ = res.Body.Close() })
		if res.StatusCode != http.StatusOK {
			w.t.Fatalf("%s was answered %d", path, res.StatusCode)
		}
		l.lines[path] = bufio.NewReader(res.Body)
	}
	return l
}

// goesOn returns what failed of its connections, each of which has to say the build some more.
func (l *longVisit) goesOn(build controlplane.DeploymentID) error {
	ctx, cancel := context.WithTimeout(l.t.Context(), 10*time.Second)
	defer cancel()
	if err := l.sock.Write(ctx, websocket.MessageText, []byte("from ")); err != nil {
		return fmt.Errorf("socket: %w", err)
	}
	if _, said, err := l.sock.Read(ctx); err != nil || string(said) != "from "+string(build) {
		return fmt.Errorf("socket: %q %w", said, err)
	}
	for path, lines := range l.lines {
		// More than what was on its way before.
		for end := time.Now().Add(200 * time.Millisecond); time.Now().Before(end); {
			line, err := lines.ReadString('\n')
			if err != nil || !strings.HasSuffix(line, string(build)+"\n") {
				return fmt.Errorf("%s: %q %w", path, line, err)
			}
		}
	}
	return nil
}

// pushUpdate pushes a commit, waits until its build has the place, and returns that build.
func (w *updateWorld) pushUpdate(n int) controlplane.DeploymentID {
	w.t.Helper()
	w.push("synchronize", n)
	x := w.until("an update", func(x controlplane.Review) bool { return x.NextID != "" })
	next := x.NextID
	w.report(next, controlplane.Applying, controlplane.Ready)
	w.until("the switch", func(x controlplane.Review) bool {
		return x.DeploymentID == next && x.NextID == "" && x.State == controlplane.ReviewReady
	})
	w.await("the switch does not reach the ingress", func() bool {
		r, ok := w.proxy.Table().Match(updateHost)
		return ok && r.DeploymentID == string(next)
	})
	return next
}

// openAsGuest lets a visitor in with a guest link of the deployment.
func (w *updateWorld) openAsGuest(v *visitor, id controlplane.DeploymentID) {
	w.t.Helper()
	_, host, token, err := gate.New(w.store, nil).CreateGuestLink(w.t.Context(), ingressTask, id,
		gate.GuestLinkRequest{Label: "a test", Life: time.Hour})
	w.must(nil, err)
	if host != updateHost {
		w.t.Fatalf("the link opens %s", host)
	}
	v.enterWith(w, host, token.Reveal(), "/")
}

// A visitor has an open WebSocket, a stream of events and a download when a newer build takes the
// place, and then another one. All three go on where they began, with a gate and without one, also
// after the half hour in which the older one is there anyway, while somebody holds it. It answers
// under its other name, and who comes new gets the newest build.
func TestUpdates_LongConnectionsGoOn(t *testing.T) {
	for _, mode := range []controlplane.GateMode{controlplane.GateOpen, controlplane.GateGuests} {
		t.Run(string(mode), func(t *testing.T) {
			w := newUpdateWorld(t)
			w.must(nil, gate.New(w.store, nil).SetEnvironment(t.Context(), ingressTask, "qa",
				controlplane.EnvironmentGate{Gate: mode}))
			w.push("opened", 1)
			x := w.until("a deployment", func(x controlplane.Review) bool { return x.DeploymentID != "" })
			first := x.DeploymentID
			w.report(first, controlplane.Applying, controlplane.Ready)
			w.await("the first build is not in the table", func() bool {
				r, ok := w.proxy.Table().Match(updateHost)
				return ok && r.State == ingress.StateReady &&
					(r.Gate == ingress.GateOpen) == (mode == controlplane.GateOpen)
			})
			v := w.newVisitor()
			if mode != controlplane.GateOpen {
				w.openAsGuest(v, first)
			}
			long := w.visitForLong(v, updateHost)
			w.mustGoOn(long, first, "before an update")
			for n := 2; n <= 3; n++ {
				newest := w.pushUpdate(n)
				w.must(nil, w.proxy.RecheckPasses(t.Context()))
				// promise: W-01
				w.mustGoOn(long, first, fmt.Sprint("after update ", n))
				fresh := w.newVisitor()
				if mode != controlplane.GateOpen {
					w.openAsGuest(fresh, newest)
				}
				if err := fresh.click(); err != nil || fresh.builds[string(newest)] != 1 {
					t.Errorf("who comes new gets %v: %v", fresh.builds, err)
				}
			}
			w.must(w.lifecycle.Hold(t.Context(), ingressTask, first, "looks at it", nil))
			w.expireOldest(0)
			w.must(nil, w.proxy.RecheckPasses(t.Context()))
			r, ok := w.proxy.Table().Match(formerHost)
			if !ok || r.DeploymentID != string(first) || r.State != ingress.StateReady {
				t.Errorf("while it is held, its other name leads to %+v", r)
			}
			w.mustGoOn(long, first, "while it is held")
		})
	}
}

func (w *updateWorld) mustGoOn(l *longVisit, build controlplane.DeploymentID, when string) {
	w.t.Helper()
	if err := l.goesOn(build); err != nil {
		w.t.Fatalf("%s: %v", when, err)
	}
}
