package api_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/nullops/nullops/agent/sidecar"
	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/accounts"
	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/pipeline"
)

// fileContent is a body that is a file.
type fileContent string

// fakeNode is a node whose services echo: commands their input, ports their bytes,
// and files are kept by their path.
type fakeNode struct {
	mu    sync.Mutex
	files map[string]string
	// ended counts connections that the control plane closed.
	ended  int
	starts []sidecar.Start
	// late is a service that answers after the end of what it was sent.
	late bool
}

func (n *fakeNode) OpenInside(_ context.Context, _ controlplane.NodeID, _ controlplane.DeploymentID,
	_ pipeline.StepKey) (net.Conn, error) {
	near, far := net.Pipe()
	go n.serve(far)
	return near, nil
}

func (n *fakeNode) OpenForward(
	_ context.Context,
	_ controlplane.NodeID,
	_ controlplane.DeploymentID,
	_ pipeline.StepKey,
	_ int,
) (net.Conn, error) {
	if n.late {
		return n.answerAfterEnd()
	}
	near, far := net.Pipe()
	go func() { _, _ = io.Copy(far, far); n.noteClosed() }()
	return near, nil
}

func (n *fakeNode) answerAfterEnd() (net.Conn, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer func() { _ = l.Close() }()
	near, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return nil, err
	}
	far, err := l.Accept()
	go func() {
		all, _ := io.ReadAll(far)
		_, _ = fmt.Fprintf(far, "%d bytes", len(all))
		_ = far.Close()
		n.noteClosed()
	}()
	return near, err
}

func (n *fakeNode) noteClosed() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ended++
}

func (n *fakeNode) serve(conn net.Conn) {
	defer n.noteClosed()
	defer func() { _ = conn.Close() }()
	to := sidecar.NewFrameWriter(conn)
	first, err := sidecar.ReadFrame(conn)
	if err != nil {
		return
	}
	var s sidecar.Start
	_ = json.Unmarshal(first.Data, &s)
	n.mu.Lock()
	n.starts = append(n.starts, s)
	content := n.files[s.Read]
	n.mu.Unlock()
	if s.Read != "" {
		_ = to.JSON(sidecar.FrameFile, sidecar.File{Name: "a b", Size: int64(len(content)), Mode: 0o640})
		_ = to.Write(sidecar.FrameOutput, []byte(content))
		_ = to.JSON(sidecar.FrameExit, sidecar.Exit{})
		_, _ = sidecar.ReadFrame(conn)
		return
	}
	n.take(s, conn, to)
}

func (n *fakeNode) take(s sidecar.Start, conn net.Conn, to *sidecar.FrameWriter) {
	var all bytes.Buffer
	for {
		f, err := sidecar.ReadFrame(conn)
		switch {
		case err != nil:
			return
		case f.Kind == sidecar.FrameInput && s.Write != "":
			all.Write(f.Data)
		case f.Kind == sidecar.FrameInput:
			_ = to.Write(sidecar.FrameOutput, f.Data)
		case f.Kind == sidecar.FrameEnd:
			n.mu.Lock()
			if n.files == nil {
				n.files = map[string]string{}
			}
			n.files[s.Write] = all.String()
			n.mu.Unlock()
			_ = to.JSON(sidecar.FrameExit, sidecar.Exit{Code: 3 * min(1, len(s.Command))})
		}
	}
}

func (n *fakeNode) countClosed() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.ended
}

// knock opens a WebSocket and shows a ticket; origin is a browser's, if any.
func (w *world) knock(header http.Header, greeting object) (*websocket.Conn, string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	w.t.Cleanup(cancel)
	ws, answer, err := websocket.Dial(ctx, w.server.URL+"/api/v1/reach",
		&websocket.DialOptions{HTTPHeader: header})
	if err != nil {
		if answer == nil {
			w.t.Fatal(err)
		}
		return nil, answer.Status
	}
	w.t.Cleanup(func() { _ = ws.CloseNow() })
	text, err := json.Marshal(greeting)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := ws.Write(ctx, websocket.MessageText, text); err != nil {
		w.t.Fatal(err)
	}
	_, first, err := ws.Read(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	return ws, string(first)
}

func bearerHeader(token string) http.Header {
	return http.Header{"Authorization": {"Bearer " + token}}
}

func (w *world) ticket(d controlplane.Deployment, token string, wish object) string {
	w.t.Helper()
	a := w.call("POST", "/api/v1/deployments/"+string(d.ID)+"/services/api/tickets", token, wish)
	if a.status != http.StatusCreated {
		w.t.Fatalf("ticket: %d %s", a.status, a.body)
	}
	return a.field("ticket")
}

// lines opens every kind of connection into a service, and makes sure they work.
func (w *world) lines(d controlplane.Deployment, token string) map[string]*websocket.Conn {
	w.t.Helper()
	all := map[string]*websocket.Conn{}
	for kind, wish := range map[string]object{"terminal": {"kind": "terminal"},
		"forward": {"kind": "forward", "port": 8080}} {
		ws, said := w.knock(bearerHeader(token), object{"ticket": w.ticket(d, token, wish)})
		if said != `{"ready":true}` {
			w.t.Fatalf("%s: it says %s", kind, said)
		}
		all[kind] = ws
	}
	return all
}

// awaitClose waits until the other side has closed the connection, and returns the reason.
func awaitClose(t *testing.T, what string, ws *websocket.Conn) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, data, err := ws.Read(ctx)
	var closed websocket.CloseError
	// promise: G-09
	if !errors.As(err, &closed) || !strings.Contains(closed.Reason, "access was withdrawn") {
		t.Errorf("%s goes on or ends for another reason: %q, %v", what, data, err)
	}
}

func (w *world) eventually(what string, holds func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); {
		if time.Now().After(deadline) {
			w.t.Fatalf("never: %s", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func reachWorld(t *testing.T) (*world, *fakeNode, controlplane.Deployment) {
	t.Helper()
	node := &fakeNode{files: map[string]string{"/etc/motd": "welcome"}}
	w := newWorldWith(t, func(w *world) { w.inside = node })
	w.shop()
	return w, node, w.deploy("first")
}

// A ticket opens one connection, once, for the person who asked for it; a command
// gets input and tells its exit code; and the audit knows the program's name alone.
func TestReach_Terminal(t *testing.T) {
	t.Parallel()
	w, node, d := reachWorld(t)
	full := w.token("full")
	ticket := w.ticket(d, full, object{"kind": "terminal"})
	hello := object{"ticket": ticket, "command": []string{"/bin/psql", "canary-argument"}}
	if _, said := w.knock(bearerHeader(w.token("root")), hello); !strings.Contains(said,
		"ticket_invalid") {
		t.Errorf("somebody else's ticket: %s", said)
	}
	if _, said := w.knock(bearerHeader(full), hello); !strings.Contains(said, "ticket_invalid") {
		t.Errorf("a ticket that was shown: %s", said)
	}
	hello["ticket"] = w.ticket(d, full, object{"kind": "terminal"})
	ws, said := w.knock(bearerHeader(full), hello)
	if said != `{"ready":true}` {
		t.Fatalf("it says %s", said)
	}
	// promise: G-17
	if _, again := w.knock(bearerHeader(full), hello); !strings.Contains(again, "ticket_invalid") {
		t.Errorf("a ticket that was used: %s", again)
	}
	ctx := t.Context()
	for _, message := range []string{"dhello", "e"} {
		if err := ws.Write(ctx, websocket.MessageBinary, []byte(message)); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"ohello", `x{"code":3}`} {
		if _, got, err := ws.Read(ctx); err != nil || string(got) != want {
			t.Fatalf("it says %q, %v; want %q", got, err, want)
		}
	}
	w.eventually("the service's end is closed", func() bool { return node.countClosed() == 1 })
	audit, root := "", w.token("root")
	w.eventually("the end is in the audit", func() bool {
		audit = string(w.call("GET", "/api/v1/audit?actor=full", root, nil).body)
		return strings.Contains(audit, "close terminal")
	})
	if !strings.Contains(audit, "open terminal") || !strings.Contains(audit, "psql") ||
		strings.Contains(audit, "canary-argument") {
		t.Errorf("the audit is %s", audit)
	}
	for _, secret := range []string{ticket, full, "canary-argument"} {
		if containsValue(w.log.String(), secret) {
			t.Errorf("%q is in the log", secret)
		}
	}
}

// pageTicket is a ticket for a terminal that a page of ours asks for.
func (w *world) pageTicket(d controlplane.Deployment, cookie string) string {
	w.t.Helper()
	return w.send("POST", "/api/v1/deployments/"+string(d.ID)+"/services/api/tickets",
		http.Header{"Cookie": {cookie}, "Content-Type": {"application/json"},
			"Origin": {"http://nullops.test"}}, strings.NewReader(`{"kind":"terminal"}`)).field("ticket")
}

// A page of another site gets no connection, not even with the cookie.
//
// threat: T14
func TestReach_Origin(t *testing.T) {
	t.Parallel()
	w, _, d := reachWorld(t)
	signedIn := w.call("POST", "/api/v1/sessions", "", object{"user": "full", "password": password})
	cookie := signedIn.cookies[0].Name + "=" + signedIn.cookies[0].Value
	for origin, want := range map[string]string{
		"http://nullops.test":      `{"ready":true}`,
		"":                         "403 Forbidden",
		"http://evil.test":         "403 Forbidden",
		"https://nullops.test":     "403 Forbidden",
		"http://nullops.test.evil": "403 Forbidden",
		"null":                     "403 Forbidden",
	} {
		header := http.Header{"Cookie": {cookie}}
		if origin != "" {
			header.Set("Origin", origin)
		}
		if _, said := w.knock(header, object{"ticket": w.pageTicket(d, cookie)}); said != want {
			t.Errorf("origin %q: %s, want %s", origin, said, want)
		}
	}
}

// Bytes go through to a declared port; connections of every kind end when their
// person loses access, and a port that is not declared is not there.
func TestReach_EndsWithAccess(t *testing.T) {
	t.Parallel()
	w, node, d := reachWorld(t)
	full := w.token("full")
	no := w.call("POST", "/api/v1/deployments/"+string(d.ID)+"/services/api/tickets", full,
		object{"kind": "forward", "port": 22})
	if no.status != http.StatusNotFound {
		t.Errorf("a port that is not declared: %d %s", no.status, no.body)
	}
	ws, said := w.knock(bearerHeader(full), object{
		"ticket": w.ticket(d, full, object{"kind": "forward", "port": 8080})})
	if said != `{"ready":true}` {
		t.Fatalf("it says %s", said)
	}
	if err := ws.Write(t.Context(), websocket.MessageBinary, []byte("ping")); err != nil {
		t.Fatal(err)
	}
	if _, got, err := ws.Read(t.Context()); err != nil || string(got) != "ping" {
		t.Fatalf("it says %q, %v", got, err)
	}
	all := w.lines(d, full)
	all["first"] = ws
	unused := w.ticket(d, full, object{"kind": "terminal"})
	w.expectSaved(w.accounts.PutTeam(t.Context(), system, accounts.TeamPut{Name: "team-full",
		Members: []string{"full"}, Grants: []controlplane.TeamGrant{
			{Project: "shop", Level: controlplane.LevelRead}}}))
	for kind, ws := range all {
		awaitClose(t, kind, ws)
	}
	w.eventually("the service's ends are closed",
		func() bool { return node.countClosed() == len(all) })
	// What was allowed when the ticket was asked for is not when it is shown.
	_, said = w.knock(bearerHeader(full), object{"ticket": unused})
	if !strings.Contains(said, `"problem"`) {
		t.Errorf("a ticket of before: %s", said)
	}
}

// An empty message to a port ends what is sent to the service, whose answer still
// comes back.
func TestReach_ForwardHalfClose(t *testing.T) {
	t.Parallel()
	w, node, d := reachWorld(t)
	node.late = true
	full := w.token("full")
	ws, said := w.knock(bearerHeader(full), object{
		"ticket": w.ticket(d, full, object{"kind": "forward", "port": 8080})})
	if said != `{"ready":true}` {
		t.Fatalf("it says %s", said)
	}
	for _, part := range []string{"four", ""} {
		if err := ws.Write(t.Context(), websocket.MessageBinary, []byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	if _, got, err := ws.Read(t.Context()); err != nil || string(got) != "4 bytes" {
		t.Errorf("the service answers %q, %v", got, err)
	}
	var closed websocket.CloseError
	if _, _, err := ws.Read(t.Context()); !errors.As(err, &closed) ||
		closed.Code != websocket.StatusNormalClosure {
		t.Errorf("after the answer the connection ends with %v", err)
	}
}

// The ticket is asked for by who may (the access matrix knows who that is); to
// anybody else it is worth nothing at the WebSocket, nor to another session.
func TestAccess_Reach(t *testing.T) {
	t.Parallel()
	w, node, d := reachWorld(t)
	full, c := w.token("full"), w.signIn("full", password).cookies[0]
	for who, row := range map[string]struct {
		header http.Header
		want   string
	}{
		"nobody":         {nil, "401 Unauthorized"},
		"a forged token": {bearerHeader("nop_aaaaaaaa_bbbbbbbbbbbb"), "401 Unauthorized"},
		"a stranger":     {bearerHeader(w.token("stranger")), "ticket_invalid"},
		"a reader":       {bearerHeader(w.token("reader")), "ticket_invalid"},
		"an admin":       {bearerHeader(w.token("root")), "ticket_invalid"},
		"their browser": {http.Header{"Cookie": {c.Name + "=" + c.Value},
			"Origin": {"http://nullops.test"}}, "ticket_invalid"},
		"another token of theirs": {bearerHeader(w.token("full")), "ticket_invalid"},
		"who asked":               {bearerHeader(full), `{"ready":true}`},
	} {
		hello := object{"ticket": w.ticket(d, full, object{"kind": "terminal"})}
		if _, said := w.knock(row.header, hello); !strings.Contains(said, row.want) {
			t.Errorf("%s: %s, want %s", who, said, row.want)
		}
	}
	w.eventually("a command began", func() bool {
		node.mu.Lock()
		defer node.mu.Unlock()
		return len(node.starts) > 0
	})
	node.mu.Lock()
	defer node.mu.Unlock()
	if len(node.starts) != 1 {
		t.Errorf("%d commands began, want one", len(node.starts))
	}
}

// Nothing runs of a removed deployment, and will not again: the answer is final.
func TestReach_RemovedIsFinal(t *testing.T) {
	t.Parallel()
	w, _, d := reachWorld(t)
	token := w.token("full")
	ask := func() answer {
		return w.call("POST", "/api/v1/deployments/"+string(d.ID)+"/services/api/tickets", token,
			object{"kind": "terminal"})
	}
	w.expect(http.StatusAccepted, "DELETE", "/deployments/"+string(d.ID), w.token("root"), nil, nil)
	now, err := w.lifecycle.Get(t.Context(), system, d.ID)
	w.expectSaved(now, err)
	w.report(now, lifecycle.Report{Status: controlplane.Removed})
	if a := ask(); a.status != http.StatusConflict || a.field("code") != "not_running" ||
		a.header.Get("Retry-After") != "" {
		t.Errorf("of a removed one: %d %v %s", a.status, a.header, a.body)
	}
}

// An unused connection ends.
func TestReach_Idle(t *testing.T) {
	t.Parallel()
	node := &fakeNode{}
	w := newWorldWith(t, func(w *world) { w.inside = node },
		func(c *api.Config) { c.Idle = time.Millisecond })
	w.shop()
	d := w.deploy("first")
	token := w.token("full")
	ws, _ := w.knock(bearerHeader(token), object{"ticket": w.ticket(d, token,
		object{"kind": "terminal"})})
	_, _, err := ws.Read(t.Context())
	if !strings.Contains(err.Error(), "idle") {
		t.Errorf("it ended with %v", err)
	}
}

// Files go in and out whole, by clean paths.
func TestReach_Files(t *testing.T) {
	t.Parallel()
	w, node, d := reachWorld(t)
	full := w.token("full")
	place := "/api/v1/deployments/" + string(d.ID) + "/services/api/files"
	a := w.call("POST", place+"/read", full, object{"path": "/etc/motd"})
	about := a.header.Get("Nullops-File")
	if string(a.body) != "welcome" ||
		about != "640 "+base64.StdEncoding.EncodeToString([]byte("a b")) {
		t.Errorf("read %d %q, about %q", a.status, a.body, about)
	}
	if a := w.call("PUT", place+"?path=/srv/x", full, fileContent("data")); a.status != 204 {
		t.Errorf("write: %d %s", a.status, a.body)
	}
	node.mu.Lock()
	written := node.files["/srv/x"]
	node.mu.Unlock()
	if written != "data" {
		t.Errorf("written is %q", written)
	}
	for _, path := range []string{"etc/motd", "/etc/../motd", "/etc//motd"} {
		a := w.call("POST", place+"/read", full, object{"path": path})
		if a.status != http.StatusBadRequest || a.field("field") != "path" {
			t.Errorf("path %s: %d %s", path, a.status, a.body)
		}
	}
	if a := w.call("PUT", place+"?path=/x", full, `{}`); a.status != 415 {
		t.Errorf("JSON instead of a file: %d", a.status)
	}
}
