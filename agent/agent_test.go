package agent_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/dummy"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
	"github.com/nullops/nullops/plugins/stdio"
)

// runMaker behaves as a plugin that returns a connection string, and complains on stderr
// with the password in it.
func runMaker(_ context.Context, p agent.PluginSpec, stdin []byte, line func(string),
) agent.PluginResult {
	var r stdio.Request
	if err := json.Unmarshal(stdin, &r); err != nil {
		return agent.PluginResult{ExitCode: 2}
	}
	line(p.Action + " with " + r.Secrets["password"])
	// After an unknown outcome there are no outputs to be given back.
	if p.Action == "delete" && r.Outputs != nil && r.Outputs["url"] != "pg://"+password {
		return agent.PluginResult{ExitCode: 3, Stdout: []byte("{}")}
	}
	return agent.PluginResult{Stdout: []byte(`{"success":true,"output":"made ` + password +
		`","outputs":{"url":"pg://` + password + `","count":3}}`)}
}

// eventually looks again and again, for what nobody reports.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	deadline := time.After(patience)
	for !holds() {
		select {
		case <-look.C:
		case <-deadline:
			t.Fatalf("%s did not come", what)
		}
	}
}

func listObjects(t *testing.T, r *dummy.Runtime) []string {
	t.Helper()
	all, err := r.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, o := range all {
		names = append(names, o.Name)
	}
	return names
}

func TestAgent_RunsRemovesAndLeavesNothing(t *testing.T) {
	p := newPlane(t)
	r := dummy.New(dummy.Hooks{Plugin: runMaker})
	dir := t.TempDir()
	n := p.boot(dir, r, nil)
	s := n.connect()
	if p.asked != 0 {
		t.Error("secrets were fetched before anything was to be run")
	}
	p.want(s, shopGoal("d1"))
	p.untilPhase("d1", wire.PhaseReady)
	checkSecretsStayHidden(t, p, dir)
	web, _ := r.Service("d1", "web")
	if web.SecretEnv["URL"] != "pg://"+password || len(web.Env) > 0 {
		t.Errorf("web got env %v, secret env %v", web.Env, web.SecretEnv)
	}
	db, _ := r.Service("d1", "db")
	if db.Env["MODE"] != "test" || db.SecretEnv["PASSWORD"] != password {
		t.Errorf("db got env %v, secret env %v", db.Env, db.SecretEnv)
	}
	p.want(s, goneGoal("d1"))
	p.untilPhase("d1", wire.PhaseRemoved)
	want := []string{"start db", "create make", "start web", "delete make"}
	if got := r.OperationLog(); !slices.Equal(got, want) {
		t.Errorf("ran %v, want %v", got, want)
	}
	// promise: N-152
	if left := listObjects(t, r); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// checkSecretsStayHidden looks for the password in all its forms in the data
// folder, the events and the log lines; and first makes sure that looking works.
func checkSecretsStayHidden(t *testing.T, p *plane, dir string) {
	t.Helper()
	forms := [][]byte{[]byte(password), []byte(hex.EncodeToString([]byte(password)))}
	for offset := range 3 {
		encoded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", offset) + password))
		forms = append(forms, []byte(encoded[4:24]))
	}
	found := func(data []byte) bool {
		return slices.ContainsFunc(forms, func(f []byte) bool { return bytes.Contains(data, f) })
	}
	if !found([]byte("x" + password)) {
		t.Fatal("the scanner is blind")
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		// promise: B-04
		// promise: N-116
		if found(data) {
			t.Errorf("%s holds the secret", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	p.until("the plugin's line", func() bool { return len(p.lines) > 0 })
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, what := range []any{p.events, p.lines} {
		data, err := json.Marshal(what)
		if err != nil {
			t.Fatal(err)
		}
		if found(data) {
			t.Errorf("reports hold the secret: %s", data)
		}
	}
	for _, e := range p.events {
		if e.Step == "make" && e.Status == pipeline.StepDone {
			if e.Outputs["url"] != "[secret]" || e.Outputs["count"] != 3.0 ||
				e.Message != "made [secret]" {
				t.Errorf("outputs shown as %v, message %q", e.Outputs, e.Message)
			}
		}
	}
	if p.lines[0].Text != "create with [secret]" || p.lines[0].Number != 1 {
		t.Errorf("first line is %+v", p.lines[0])
	}
}

func TestAgent_SecretsAreFetchedOnlyWhenARunNeedsThem(t *testing.T) {
	p := newPlane(t)
	r := dummy.New(dummy.Hooks{Plugin: runMaker})
	s := p.boot(t.TempDir(), r, nil).connect()
	p.silent = true
	p.want(s, shopGoal("d1"))
	p.until("the question", func() bool { return p.asked > 0 })
	// promise: N-115
	if got := r.OperationLog(); len(got) > 0 {
		t.Errorf("ran without secrets: %v", got)
	}
}

// A failure rolls back while the control plane is unreachable, and is reported afterwards.
func TestAgent_RollsBackWithoutControlPlane(t *testing.T) {
	p := newPlane(t)
	cut := make(chan struct{})
	gone := make(chan struct{})
	k := dummy.Hooks{Plugin: runMaker}
	k.Health = func(s agent.ServiceSpec) agent.ProbeResult {
		if s.Step == "web" {
			select {
			case <-cut:
			default:
				close(cut)
			}
			<-gone
			return agent.ProbeResult{Health: wire.HealthStopped, Ended: true, ExitCode: 3}
		}
		return agent.ProbeResult{Health: wire.HealthHealthy}
	}
	r := dummy.New(k)
	n := p.boot(t.TempDir(), r, nil)
	s := n.connect()
	goal := shopGoal("d1")
	for i := range goal.Pipeline.Steps {
		if web := goal.Pipeline.Steps[i].Service; web != nil {
			web.Restart = pipeline.RestartNever
		}
	}
	p.want(s, goal)
	<-cut
	_ = s.Close(wire.CodeGone, "the cable is cut")
	close(gone)
	// promise: N-094
	eventually(t, "an empty engine", func() bool { return len(listObjects(t, r)) == 0 })
	n.connect()
	p.untilPhase("d1", wire.PhaseFailed)
	want := []string{"start db", "create make", "start web", "delete make"}
	if got := r.OperationLog(); !slices.Equal(got, want) {
		t.Errorf("ran %v, want %v", got, want)
	}
	checkContiguous(t, p)
	if !strings.Contains(p.story(), "web failed service_exited the service ended with exit code 3") {
		t.Errorf("the reason is missing:%s", p.story())
	}
}

// checkContiguous: no gap and no double in what the control plane keeps.
func checkContiguous(t *testing.T, p *plane) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, e := range p.events {
		if e.Seq != p.events[0].Seq+int64(i) {
			t.Fatalf("event %d has number %d", i, e.Seq)
		}
	}
}

func TestAgent_TunnelReachesDeclaredPortsOnly(t *testing.T) {
	p := newPlane(t)
	r := dummy.New(dummy.Hooks{Plugin: runMaker})
	n := p.boot(t.TempDir(), r, nil)
	p.want(n.connect(), shopGoal("d1"))
	p.untilPhase("d1", wire.PhaseReady)
	open := func(target wire.Target) (io.ReadWriteCloser, error) {
		conn, err := n.dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return wire.OpenTunnel(t.Context(), conn, target)
	}
	tunnel, err := open(wire.Target{Deployment: "d1", Service: "web", Port: 80})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(tunnel, "ping"); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 4)
	// promise: G-09
	if _, err := io.ReadFull(tunnel, got); err != nil || string(got) != "ping" {
		t.Errorf("got %q, %v", got, err)
	}
	_ = tunnel.Close()
	for _, bad := range []wire.Target{{Deployment: "d1", Service: "web", Port: 81},
		{Deployment: "d1", Service: "make", Port: 80}, {Deployment: "d2", Service: "web", Port: 80}} {
		// promise: G-09
		if _, err := open(bad); err == nil || !strings.Contains(err.Error(), "404") {
			t.Errorf("%s: %v, want 404", bad, err)
		}
	}
}

// A stream that a visitor has open lives on when the control plane dies, and when the next one
// takes over with a higher epoch: nothing but its own ends closes it.
//
// fault: F58
func TestAgent_StreamsOutliveTheControlPlane(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	n := p.boot(t.TempDir(), dummy.New(dummy.Hooks{Plugin: runMaker}), nil)
	first := n.connect()
	p.want(first, shopGoal("d1"))
	p.untilPhase("d1", wire.PhaseReady)
	conn, err := n.dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stream, err := wire.OpenTunnel(t.Context(), conn,
		wire.Target{Deployment: "d1", Service: "web", Port: 80})
	if err != nil {
		t.Fatal(err)
	}
	echoes := func(when string) {
		t.Helper()
		if _, err := io.WriteString(stream, "ping"); err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		got := make([]byte, 4)
		if _, err := io.ReadFull(stream, got); err != nil || string(got) != "ping" {
			t.Fatalf("%s it carried %q, %v", when, got, err)
		}
	}
	echoes("with the first control plane")
	_ = first.Close(wire.CodeGone, "it dies")
	<-first.Done()
	echoes("without a control plane")
	p.epoch = 2
	n.connect()
	echoes("with the next control plane")
	if _, err := wire.Dial(t.Context(), n.dialConfig(1)); err == nil {
		t.Error("the agent still obeys the epoch before: nothing took over")
	}
}

// The refusal explains that a service listens on loopback only.
func TestAgent_TunnelSaysThatAServiceListensOnLoopback(t *testing.T) {
	p := newPlane(t)
	r := dummy.New(dummy.Hooks{Plugin: runMaker, Fail: func(op, subject string) error {
		if op != "dial" {
			return nil
		}
		return fmt.Errorf("service %s: %w", subject, &agent.LoopbackError{Service: "web", Port: 80,
			Addresses: wire.ListenAddrs{netip.MustParseAddrPort("127.0.0.1:80")}})
	}})
	n := p.boot(t.TempDir(), r, nil)
	p.want(n.connect(), shopGoal("d1"))
	p.untilPhase("d1", wire.PhaseReady)
	conn, err := n.dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = wire.OpenTunnel(t.Context(), conn,
		wire.Target{Deployment: "d1", Service: "web", Port: 80})
	var refused *wire.TunnelError
	if !errors.As(err, &refused) || refused.Status != http.StatusBadGateway ||
		refused.Listens.String() != "127.0.0.1:80" ||
		!strings.Contains(refused.Reason, "it listens on 127.0.0.1:80 only") {
		t.Errorf("refused with %v, listens on %v", err, refused.Listens)
	}
}

func TestAgent_StreamsServiceLogsMasked(t *testing.T) {
	p := newPlane(t)
	r := dummy.New(dummy.Hooks{Plugin: runMaker})
	n := p.boot(t.TempDir(), r, nil)
	p.want(n.connect(), shopGoal("d1"))
	p.untilPhase("d1", wire.PhaseReady)
	r.AppendLog("d1", "web", "using "+password)
	client := &http.Client{Transport: wire.NewTransport(
		func(ctx context.Context) (net.Conn, error) { return n.dial(ctx) })}
	answer, err := client.Get("http://agent/v1/deployments/d1/services/web/logs?tail=1")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, _ := io.ReadAll(answer.Body)
	if answer.StatusCode != http.StatusOK || !strings.HasSuffix(string(body), "using [secret]\n") {
		t.Errorf("%s: %q", answer.Status, body)
	}
}

// A service whose turn has not come has no log yet, which is not the same as none.
func TestAgent_ServiceHasNoLogYet(t *testing.T) {
	p := newPlane(t)
	hold := make(chan struct{})
	defer close(hold)
	r := dummy.New(dummy.Hooks{Plugin: func(ctx context.Context, spec agent.PluginSpec, in []byte,
		line func(string)) agent.PluginResult {
		<-hold
		return runMaker(ctx, spec, in, line)
	}})
	n := p.boot(t.TempDir(), r, nil)
	p.want(n.connect(), shopGoal("d1"))
	client := &http.Client{Transport: wire.NewTransport(
		func(ctx context.Context) (net.Conn, error) { return n.dial(ctx) })}
	p.until("the answer", func() bool {
		answer, err := client.Get("http://agent/v1/deployments/d1/services/web/logs")
		if err != nil {
			return false
		}
		defer func() { _ = answer.Body.Close() }()
		return answer.StatusCode == http.StatusTooEarly
	})
}

func TestAgent_RestartsAServiceThatEnds(t *testing.T) {
	p := newPlane(t)
	r := dummy.New(dummy.Hooks{Plugin: runMaker})
	p.want(p.boot(t.TempDir(), r, nil).connect(), shopGoal("d1"))
	p.untilPhase("d1", wire.PhaseReady)
	r.CrashService("d1", "web", 1)
	p.until("the restart", func() bool {
		for _, s := range p.vitals.Services {
			if s.Step == "web" && s.Restarts == 1 {
				return true
			}
		}
		return false
	})
	r.RemoveAllObjects("d1")
	p.until("everything again", func() bool {
		_, db := r.Service("d1", "db")
		_, web := r.Service("d1", "web")
		return db && web
	})
	if n := strings.Count(strings.Join(r.OperationLog(), ","), "create make"); n != 1 {
		t.Errorf("the plugin ran %d times", n)
	}
}

func TestAgent_RemovesWhatHasNoGoal(t *testing.T) {
	p := newPlane(t)
	r := dummy.New(dummy.Hooks{Plugin: runMaker})
	if err := r.Prepare(t.Context(), "zombie"); err != nil {
		t.Fatal(err)
	}
	n := p.boot(t.TempDir(), r, nil)
	if len(listObjects(t, r)) == 0 {
		t.Error("removed before the control plane said what should be")
	}
	n.connect()
	// promise: N-153
	eventually(t, "an empty engine", func() bool { return len(listObjects(t, r)) == 0 })
}

// A failed listing proves nothing: nothing is stopped or removed because of it.
//
// fault: F38
func TestAgent_ConcludesNothingFromAFailedListing(t *testing.T) {
	p := newPlane(t)
	k := dummy.Hooks{Plugin: runMaker}
	r := dummy.New(k)
	p.want(p.boot(t.TempDir(), r, nil).connect(), shopGoal("d1"))
	p.untilPhase("d1", wire.PhaseReady)
	before := r.OperationLog()
	failed := make(chan struct{}, 100)
	k.Fail = func(op, _ string) error {
		if op == "list" {
			select {
			case failed <- struct{}{}:
			default:
			}
			return agent.ErrUnavailable
		}
		return nil
	}
	r.SetHooks(k)
	for range 2 {
		<-failed
	}
	r.SetHooks(dummy.Hooks{Plugin: runMaker})
	if after := r.OperationLog(); !slices.Equal(before, after) {
		t.Errorf("did %v", after[len(before):])
	}
	if len(listObjects(t, r)) == 0 {
		t.Error("everything was removed")
	}
}
