package agent_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/dummy"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// carrier is an engine with volumes that hold one word each.
type carrier struct {
	*dummy.Runtime
	mu sync.Mutex
	// left are containers of copies; reading is called while a volume is read.
	left    []agent.Object
	reading func()
	// asked is the volume that was read last.
	asked agent.VolumeName
	// written are the pieces of all writes.
	written []string
}

func (c *carrier) List(ctx context.Context) ([]agent.Object, error) {
	all, err := c.Runtime.List(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	return append(all, c.left...), err
}

func (c *carrier) Remove(ctx context.Context, o agent.Object) error {
	c.mu.Lock()
	c.left = slices.DeleteFunc(c.left, func(l agent.Object) bool { return l.ID == o.ID })
	c.mu.Unlock()
	return c.Runtime.Remove(ctx, o)
}

func (c *carrier) VolumeBytes(context.Context, string) (int64, error) { return 4, nil }

func (c *carrier) ReadVolume(_ context.Context, v agent.VolumeName) (io.ReadCloser, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = v
	if c.reading != nil {
		c.reading()
	}
	return io.NopCloser(strings.NewReader("data")), nil
}

func (c *carrier) WriteVolume(ctx context.Context, _ agent.VolumeName, from io.Reader) error {
	piece := make([]byte, 4)
	for {
		n, err := from.Read(piece)
		c.mu.Lock()
		c.written = append(c.written, string(piece[:n]))
		c.mu.Unlock()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
	}
}

// countWrites reports how often a piece was written.
func (c *carrier) countWrites(piece string) (times int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.written {
		if p == piece {
			times++
		}
	}
	return times
}

// get asks the agent over a proven connection of its own.
func (n *node) get(path string) (status int, body string, err error) {
	n.t.Helper()
	return n.ask(http.MethodGet, path, "", nil)
}

func (n *node) ask(method, path, attempt string, content io.Reader) (
	status int, body string, err error) {
	transport := wire.NewTransport(
		func(ctx context.Context) (net.Conn, error) { return n.dial(ctx) })
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(context.Background(), method,
		"http://agent/v1/deployments/"+path, content)
	if err != nil {
		return 0, "", err
	}
	request.Header.Set(wire.HeaderAttempt, attempt)
	r, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = r.Body.Close() }()
	text, err := io.ReadAll(r.Body)
	return r.StatusCode, string(text), err
}

func (n *node) untilStill(want bool) {
	n.t.Helper()
	var s wire.VolumesState
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		_, body, err := n.get("d1/volumes")
		if err == nil && json.Unmarshal([]byte(body), &s) == nil && s.Still == want {
			return
		}
	}
	n.t.Fatalf("it says %t that it is still", !want)
}

// Volumes are given away only while nothing runs and nothing is being done: not as long as a stop
// continues, and not when something was started meanwhile. What a dead agent left of a copy is gone
// by then. Called off, the same containers continue.
func TestAgent_GivesVolumesAwayWhenAllIsStill(t *testing.T) {
	p, stopping := newPlane(t), make(chan struct{})
	c := &carrier{left: []agent.Object{{Kind: agent.KindCopy, ID: "old", Deployment: "d1"}},
		Runtime: dummy.New(dummy.Hooks{Plugin: runMaker, Lose: func(op, subject string) error {
			if op == "stop" && subject == "db" {
				<-stopping
			}
			return nil
		}})}
	g := shopGoal("d1")
	g.Pipeline.Steps[0].Service.Volumes = []pipeline.Volume{{Name: "data", Path: "/data"},
		{Name: "own", Path: "/own", Shared: "site"}, {Name: "kept", Path: "/k", Stays: true}}
	n := p.boot(t.TempDir(), c, nil)
	s := n.connect()
	p.want(s, g)
	p.untilPhase("d1", wire.PhaseReady)
	before := c.services(t)
	const volume = "d1/services/db/volumes/data"
	refused := func(when string) {
		t.Helper()
		if status, body, _ := n.get(volume); status != http.StatusConflict {
			t.Errorf("%s it was read: %d %s", when, status, body)
		}
	}
	refused("while services ran")
	// A backup may be told not to stop them.
	if status, body, err := n.get(volume + "?running=1"); status != http.StatusOK || err != nil {
		t.Errorf("read while services ran: %d %q %v", status, body, err)
	}
	if status, _, err := n.ask(http.MethodPut, volume, "", strings.NewReader("x")); err == nil &&
		status != http.StatusConflict {
		t.Errorf("it was replaced while services ran: %d", status)
	}
	g.Generation, g.Still = 2, true
	p.want(s, g)
	c.untilRan("stop db", 1)
	n.untilStill(false)
	refused("while a service was stopped")
	close(stopping)
	n.untilStill(true)
	if status, _, err := n.ask(http.MethodPut, volume, "", strings.NewReader("x")); err == nil &&
		status != http.StatusConflict {
		t.Errorf("it was replaced, and nobody restores it: %d", status)
	}
	if status, body, err := n.get(volume); status != http.StatusOK || body != "data" || err != nil {
		t.Errorf("read: %d %q %v", status, body, err)
	}
	for name, want := range map[string]agent.VolumeName{
		"own": {Deployment: "d1", Name: "site"}, "kept": {}, "site": {}} {
		c.asked = agent.VolumeName{}
		if _, _, _ = n.get("d1/services/db/volumes/" + name); c.asked != want {
			t.Errorf("%s read the volume %+v", name, c.asked)
		}
	}
	db, _ := c.Service("d1", "db")
	c.mu.Lock()
	if len(c.left) > 0 {
		t.Errorf("of an older copy there is %v", c.left)
	}
	c.reading = func() { _ = c.StartService(context.Background(), db) }
	c.mu.Unlock()
	if _, body, err := n.get(volume); err == nil {
		t.Errorf("with a service started meanwhile, %q was read", body)
	}
	c.untilRan("stop db", 2)
	n.untilStill(true)
	// A restore writes where the deployment is, and nothing is read meanwhile.
	g.Generation, g.Attempt = 3, "restore"
	p.want(s, g)
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		status, body, err := n.ask(http.MethodPut, volume, "restore", strings.NewReader("back"))
		if err == nil && status == http.StatusOK && c.countWrites("back") > 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("it cannot be restored: %d %s %v", status, body, err)
		}
	}
	if status, _, err := n.get(volume + "?running=1"); err == nil && status != http.StatusConflict {
		t.Errorf("read while it is restored: %d", status)
	}
	g.Generation, g.Attempt, g.Still = 4, "", false
	p.want(s, g)
	c.untilRan("start db", 3)
	c.untilRan("start web", 2)
	if now := c.services(t); !slices.Equal(now, before) {
		t.Errorf("the services are %v instead of %v", now, before)
	}
}

// Who was paused while it copied, and is no longer wanted, writes nothing into what a later attempt
// copies: neither with the request it made before, nor with another.
func TestAgent_VolumesAreOneAttemptsToWrite(t *testing.T) {
	p := newPlane(t)
	c := &carrier{Runtime: dummy.New(dummy.Hooks{Plugin: runMaker})}
	g := shopGoal("d1")
	g.Pipeline.Steps[0].Service.Volumes = []pipeline.Volume{{Name: "data", Path: "/data"}}
	g.Elsewhere, g.Still, g.Attempt = true, true, "first"
	n := p.boot(t.TempDir(), c, nil)
	s := n.connect()
	p.want(s, g)
	n.untilStill(true)
	const volume = "d1/services/db/volumes/data"
	put := func(attempt, content string) (int, string) {
		t.Helper()
		status, body, err := n.ask(http.MethodPut, volume, attempt, strings.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		return status, body
	}
	if status, body := put("other", "data"); status != http.StatusConflict {
		t.Errorf("who is of no attempt wrote: %d %s", status, body)
	}
	content, paused := io.Pipe()
	ended := make(chan int)
	go func() {
		status, _, _ := n.ask(http.MethodPut, volume, "first", content)
		ended <- status
	}()
	_, _ = paused.Write([]byte("old1"))
	for end := time.Now().Add(patience); c.countWrites("old1") == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the first attempt does not begin")
		}
	}
	g.Generation, g.Attempt = 2, "second"
	p.want(s, g)
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		status, body := put("second", "new1")
		if status == http.StatusOK {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the second attempt cannot write: %d %s", status, body)
		}
	}
	go func() { _, _ = paused.Write([]byte("old2")); _ = paused.Close() }()
	if status := <-ended; status == http.StatusOK {
		t.Error("the paused attempt has written its volume")
	}
	if status, body := put("first", "old3"); status != http.StatusConflict {
		t.Errorf("the earlier attempt wrote: %d %s", status, body)
	}
	if c.countWrites("old2")+c.countWrites("old3") > 0 || c.countWrites("new1") != 1 {
		t.Errorf("written is %q", c.written)
	}
}

func (c *carrier) services(t *testing.T) (ids []string) {
	all, err := c.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range all {
		if o.Kind == agent.KindService {
			ids = append(ids, o.ID)
		}
	}
	return ids
}

// untilRan waits until the ledger has a line so often.
func (c *carrier) untilRan(line string, times int) {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		n := 0
		for _, ran := range c.OperationLog() {
			if ran == line {
				n++
			}
		}
		if n >= times {
			return
		}
	}
}
