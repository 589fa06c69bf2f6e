package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/accounts"
	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/controlplane/catalog"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/controlplane/logbook"
	"github.com/nullops/nullops/pipeline"
)

// event is one server-sent event.
type event struct{ name, id, data string }

// listener reads a stream as a browser does.
type listener struct {
	t      *testing.T
	status int
	read   *bufio.Reader
	close  func()
}

// open follows a stream; cut it with close. The whole test has two minutes: a
// stream that hangs fails it.
func (w *world) open(path, token, lastID string) *listener {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 2*time.Minute)
	r, err := http.NewRequestWithContext(ctx, "GET", w.server.URL+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	if value, ok := strings.CutPrefix(token, "cookie "); ok {
		r.Header.Set("Cookie", value)
	} else {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if lastID != "" {
		r.Header.Set("Last-Event-ID", lastID)
	}
	got, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		w.t.Fatal(err)
	}
	stop := func() { cancel(); got.Body.Close() }
	w.t.Cleanup(stop)
	return &listener{t: w.t, status: got.StatusCode, read: bufio.NewReader(got.Body), close: stop}
}

// next returns the next event; ok is false when the stream has ended.
func (l *listener) next() (e event, ok bool) {
	l.t.Helper()
	for {
		text, err := l.read.ReadString('\n')
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				l.t.Fatalf("stream broke: %v", err)
			}
			return e, false
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(text, "\n"), ": ")
		switch name {
		case "event":
			e.name = value
		case "id":
			e.id = value
		case "data":
			e.data = value
		case "":
			if e.name != "" {
				return e, true
			}
		}
	}
}

// drain reads what is still on its way, up to the end of the stream.
func (l *listener) drain() (rest []event) {
	l.t.Helper()
	for range 100 {
		e, ok := l.next()
		if !ok {
			return rest
		}
		rest = append(rest, e)
	}
	l.t.Error("the stream goes on")
	return rest
}

// until reads to the first event that fits.
func (l *listener) until(fits func(event) bool) event {
	l.t.Helper()
	for range 10_000 {
		e, ok := l.next()
		if !ok {
			l.t.Fatal("the stream ended before what was waited for")
		}
		if fits(e) {
			return e
		}
	}
	l.t.Fatal("10,000 events, and not the one waited for")
	return event{}
}

func isNamed(name string) func(event) bool {
	return func(e event) bool { return e.name == name }
}

func decodeEvent[T any](t *testing.T, e event) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(e.data), &v); err != nil {
		t.Fatalf("%s: %v: %s", e.name, err, e.data)
	}
	return v
}

// A listener that is cut again and again, while steps change and lines come,
// ends up with each line and each change once and in order. Lines that an agent
// sends twice use up no id: a gap in the ids would look like lost lines.
func TestStreamDeployment_ResumesWithoutGapOrDouble(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	d := w.deploy("first")
	w.report(d, lifecycle.Report{Status: controlplane.Applying})
	token, path := w.token("reader"), "/api/v1/deployments/"+string(d.ID)+"/events"
	const lines = 120
	changes := []pipeline.StepStatus{pipeline.StepPulling, pipeline.StepRunning, pipeline.StepDone}
	first := w.open(path, token, "")
	began := first.until(isNamed("deployment"))
	wrote := make(chan struct{})
	go func() {
		defer close(wrote)
		for n := int64(1); n <= lines; n++ {
			w.write(d, "seed", n, fmt.Sprintf("line %d", n))
			if n%10 == 0 {
				w.write(d, "seed", n, fmt.Sprintf("line %d", n))
			}
			if n%40 == 20 {
				w.report(d, lifecycle.Report{Step: &controlplane.StepRow{
					Key: "seed", Status: changes[n/40]}})
			}
		}
	}()
	var numbers []int64
	var statuses []string
	lastID, l, onThis := began.id, first, 0
	for int64(len(numbers)) < lines || len(statuses) < len(changes) {
		e, ok := l.next()
		if !ok {
			t.Fatal("the stream ended")
		}
		if e.id != "" {
			lastID = e.id
		}
		switch e.name {
		case "line":
			numbers = append(numbers, decodeEvent[api.LogLine](t, e).Number)
			if !strings.HasSuffix(e.id, fmt.Sprintf("-%d", len(numbers))) {
				t.Errorf("line %d has the id %s", len(numbers), e.id)
			}
		case "step":
			statuses = append(statuses, string(decodeEvent[api.Step](t, e).Status))
		}
		if onThis++; onThis == 7 {
			l.close()
			l, onThis = w.open(path, token, lastID), 0
		}
	}
	<-wrote
	for i, n := range numbers {
		if n != int64(i+1) {
			t.Fatalf("line %d came as number %d: %v", n, i+1, numbers)
		}
	}
	// promise: B-11
	if got := strings.Join(statuses, " "); got != "pulling running done" {
		t.Errorf("the step went: %s", got)
	}
}

// The present state comes first: each step as the pipeline has it, then the deployment, whose id is
// where to continue.
func TestStreamDeployment_BeginsWithTheState(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	d := w.deploy("first")
	path := "/api/v1/deployments/" + string(d.ID) + "/events"
	for _, lastID := range []string{"", "garbage", "999999-0"} {
		l := w.open(path, w.token("full"), lastID)
		api1, _ := l.next()
		seed, _ := l.next()
		whole, _ := l.next()
		s := decodeEvent[api.Step](t, seed)
		if api1.name != "step" || s.Key != "seed" || s.Kind != "plugin" || s.Title != "seed:1.0" ||
			len(s.Needs) != 1 || s.Needs[0] != "api" || s.Status != "pending" || s.Run != 1 ||
			(*s.Inputs)["token"] != "${{ secrets.API_TOKEN }}" {
			t.Errorf("%q: steps are %s, %s", lastID, api1.data, seed.data)
		}
		v := decodeEvent[api.Deployment](t, whole)
		if whole.name != "deployment" || whole.id != fmt.Sprintf("%d-0", v.Revision) ||
			v.Level != "full" || seed.id != "" {
			t.Errorf("%q: deployment is %s %s", lastID, whole.id, whole.data)
		}
		l.close()
	}
}

// Who loses access in the middle hears no more, and the stream ends.
//
// threat: T17
func TestStream_EndsWithAccess(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	d := w.deploy("first")
	l := w.open("/api/v1/deployments/"+string(d.ID)+"/events", w.token("reader"), "")
	l.until(isNamed("deployment"))
	w.expectSaved(w.accounts.PutTeam(t.Context(), system, accounts.TeamPut{Name: "team-reader"}))
	w.write(d, "seed", 1, "not for the reader")
	for _, e := range l.drain() {
		// promise: N-011
		if e.name == "line" {
			t.Fatalf("a line after access was taken: %s", e.data)
		}
	}
}

// Signing out ends the streams and terminals of that session; so does being made
// inactive.
func TestStream_EndsWithTheSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	d := w.deploy("first")
	c := w.signIn("full", password).cookies[0]
	signedIn := w.open("/api/v1/events", "cookie "+c.Name+"="+c.Value, "")
	signedIn.until(isNamed("reset"))
	terminal, _ := w.knock(http.Header{"Cookie": {c.Name + "=" + c.Value},
		"Origin": {"http://nullops.test"}}, object{"ticket": w.pageTicket(d, c.Name+"="+c.Value)})
	inactive := w.open("/api/v1/events", w.token("reader"), "")
	inactive.until(isNamed("reset"))
	w.send("DELETE", "/api/v1/sessions/current", http.Header{"Origin": {"http://nullops.test"},
		"Cookie": {c.Name + "=" + c.Value}}, nil)
	w.expectSaved(w.accounts.PutUser(t.Context(), system, accounts.UserPut{Name: "reader",
		Role: controlplane.RoleUser, DisplayName: "reader"}))
	for _, l := range []*listener{signedIn, inactive} {
		l.drain()
	}
	awaitClose(t, "the terminal", terminal)
}

// A session that is ended in another browser, or by another password there, loses all its streams
// and terminals within seconds.
func TestStream_EndsWithASessionEndedElsewhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	d, all := w.deploy("first"), readOperations(t)
	other := w.signedIn("root")
	for _, end := range []func(id string){
		func(id string) { other.want(http.StatusNoContent, "DELETE", "/sessions/"+id, nil) },
		func(string) {
			other.want(http.StatusNoContent, "PUT", "/me/password",
				object{"current": password, "password": "another-long-password"})
		},
	} {
		c := w.signIn("root", password).cookies[0]
		cookie := c.Name + "=" + c.Value
		streams := map[string]*listener{}
		for id, o := range all {
			ok := o.op.Responses.Status(http.StatusOK)
			if ok == nil || ok.Value.Content["text/event-stream"] == nil {
				continue
			}
			l := w.open(fillPath(o.visit.path, d), "cookie "+cookie, "")
			if l.status == http.StatusOK {
				streams[id] = l
			}
		}
		terminal, _ := w.knock(http.Header{"Cookie": {cookie}, "Origin": {"http://nullops.test"}},
			object{"ticket": w.pageTicket(d, cookie)})
		var sessions api.SessionList
		got := other.want(http.StatusOK, "GET", "/sessions", nil)
		w.expectSaved(nil, json.Unmarshal(got.body, &sessions))
		for _, s := range sessions.Items {
			if !s.Current {
				end(s.Id)
			}
		}
		began := time.Now()
		for _, l := range streams {
			l.drain()
		}
		awaitClose(t, "the terminal", terminal)
		// promise: W-03
		if took := time.Since(began); len(streams) < 5 || took > 10*time.Second {
			t.Errorf("%d streams and the terminal ended after %s", len(streams), took)
		}
	}
}

// The list's stream says when to read again, reports each change to those who may see it, and
// resumes where it was cut.
func TestStreamEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	token := w.token("reader")
	l := w.open("/api/v1/events", token, "")
	began := l.until(isNamed("reset"))
	stranger := w.open("/api/v1/events", w.token("stranger"), "")
	stranger.until(isNamed("reset"))
	first := w.deploy("first")
	got := decodeEvent[api.Deployment](t, l.until(isNamed("deployment")))
	if got.Id != string(first.ID) || got.Level != "read" {
		t.Errorf("told of %+v", got)
	}
	l.close()
	second := w.deploy("second")
	l = w.open("/api/v1/events", token, began.id)
	seen := map[string]int{}
	for seen[string(first.ID)] == 0 || seen[string(second.ID)] == 0 {
		e, ok := l.next()
		if !ok || e.name != "deployment" {
			t.Fatalf("resumed with %v", e)
		}
		seen[decodeEvent[api.Deployment](t, e).Id]++
	}
	if seen[string(first.ID)] != 1 || seen[string(second.ID)] != 1 {
		t.Errorf("told twice: %v", seen)
	}
	for _, id := range []string{"garbage", "-1", "0", "9999999999999"} {
		l := w.open("/api/v1/events", token, id)
		if e, _ := l.next(); e.name != "reset" || e.id == "" {
			t.Errorf("%q is answered with %v", id, e)
		}
		l.close()
	}
	w.expectSaved(w.accounts.PutTeam(t.Context(), system, accounts.TeamPut{Name: "team-new",
		Members: []string{"stranger"}, Grants: []controlplane.TeamGrant{
			{Project: "shop", Level: controlplane.LevelRead}}}))
	// promise: N-007
	if e, _ := stranger.next(); e.name != "reset" {
		t.Errorf("a stranger was told %v before having a team", e)
	}
}

// All followers of the list share the queries, and each gets only what they may see, at their own
// level.
func TestStreamEvents_EachGetsOnlyTheirs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	ctx := t.Context()
	w.expectSaved(w.catalog.PutProject(ctx, system, catalog.ProjectPut{Name: "other",
		Resources: pipeline.Resources{CPU: 2, MemoryMiB: 1024}}))
	value := controlplane.NewPlain(projectSecret)
	w.expectSaved(w.catalog.PutSecret(ctx, system, catalog.SecretPut{Project: "other",
		Name: "API_TOKEN", Value: &value}))
	w.expectSaved(w.catalog.SavePipeline(ctx, system, "other", shopPipeline(), "first"))
	w.expectSaved(w.accounts.PutTeam(ctx, system, accounts.TeamPut{Name: "team-other",
		Members: []string{"stranger"}, Grants: []controlplane.TeamGrant{
			{Project: "other", Level: controlplane.LevelFull}}}))
	listeners := map[string]*listener{}
	for _, who := range []string{"reader", "full", "stranger"} {
		listeners[who] = w.open("/api/v1/events", w.token(who), "")
		listeners[who].until(isNamed("reset"))
	}
	for _, name := range []string{"first", "second", "last"} {
		for _, project := range []string{"other", "shop"} {
			w.expectSaved(w.lifecycle.Create(ctx, system, lifecycle.Request{Name: name + "-" + project,
				Project: project, Environment: "qa",
				Versions: map[pipeline.StepKey]string{"api": "1.0"}}))
		}
	}
	for who, want := range map[string][2]string{"reader": {"shop", "read"},
		"full": {"shop", "full"}, "stranger": {"other", "full"}} {
		names := map[string]int{}
		for len(names) < 3 {
			d := decodeEvent[api.Deployment](t, listeners[who].until(isNamed("deployment")))
			if names[d.Name]++; d.Project != want[0] || string(d.Level) != want[1] {
				t.Errorf("%s is told of %s of %s as %s", who, d.Name, d.Project, d.Level)
			}
		}
	}
}

// nodeLogs is a node that has a log, or is out of reach.
type nodeLogs struct {
	text string
	err  error
	got  logbook.NodeLogOptions
}

func (n *nodeLogs) Follow(_ context.Context, _ controlplane.NodeID, _ controlplane.DeploymentID,
	_ pipeline.StepKey, o logbook.NodeLogOptions) (io.ReadCloser, error) {
	n.got = o
	if n.err != nil {
		return nil, n.err
	}
	return io.NopCloser(strings.NewReader(n.text)), nil
}

// A service's log comes line by line from its node, to anyone who may see the deployment; what a
// line holds cannot break the stream's form.
func TestStreamServiceLogs(t *testing.T) {
	t.Parallel()
	logs := &nodeLogs{text: "2026-01-02T03:04:05.123456789Z hello\r\n" +
		"2026-01-02T03:04:06Z \x1b[31mred\nno time at all\n" +
		"2026-01-02T03:04:07Z bad \xff byte"}
	w := newWorld(t, func(c *api.Config) { c.Logs = logs })
	w.shop()
	d := w.deploy("first")
	path := "/api/v1/deployments/" + string(d.ID) + "/services/api/logs"
	l := w.open(path+"?tail=7", w.token("reader"), "")
	var texts []string
	for {
		e, ok := l.next()
		if !ok {
			t.Fatal("no end")
		}
		if e.name == "end" {
			break
		}
		texts = append(texts, decodeEvent[api.ServiceLogLine](t, e).Text)
	}
	want := []string{"hello", "\x1b[31mred", "no time at all", "bad \ufffd byte"}
	// promise: N-283
	if strings.Join(texts, "|") != strings.Join(want, "|") {
		t.Errorf("lines are %q", texts)
	}
	if logs.got.Tail != 7 || logs.got.Follow {
		t.Errorf("asked for %+v", logs.got)
	}
	if a := w.open(path, w.token("stranger"), ""); a.status != http.StatusNotFound {
		t.Errorf("a stranger gets %d", a.status)
	}
	logs.err = errors.New("dial 10.0.0.1: secret detail")
	e, _ := w.open(path, w.token("reader"), "").next()
	if e.name != "error" || !strings.Contains(e.data, "node_unreachable") ||
		strings.Contains(e.data, "secret detail") {
		t.Errorf("an unreachable node is %v", e)
	}
}
