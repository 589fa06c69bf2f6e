package agent_test

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/dummy"
	"github.com/nullops/nullops/agent/wire"
)

// post asks the agent over a proven connection of its own.
func (n *node) post(ctx context.Context, path string) (*http.Response, error) {
	transport := wire.NewTransport(
		func(ctx context.Context) (net.Conn, error) { return n.dial(ctx) })
	n.t.Cleanup(transport.CloseIdleConnections)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://agent"+path, nil)
	if err != nil {
		return nil, err
	}
	return (&http.Client{Transport: transport}).Do(r)
}

func (n *node) check(deployment string) wire.StepChecks {
	n.t.Helper()
	r, err := n.post(n.t.Context(), "/v1/deployments/"+deployment+"/checks")
	if err != nil {
		n.t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	if r.StatusCode != http.StatusOK {
		n.t.Fatalf("the check was answered with %s", r.Status)
	}
	all, err := wire.DecodeStepChecks(r.Body)
	if err != nil {
		n.t.Fatal(err)
	}
	return all
}

// A plugin that declares check is called with its own outputs, on a deployment
// that is ready, and its answer comes back masked; nothing is created or removed.
func TestAgent_ChecksWhatPluginsMade(t *testing.T) {
	p := newPlane(t)
	broken := make(chan bool, 1)
	broken <- false
	r := dummy.New(dummy.Hooks{Plugin: func(ctx context.Context, spec agent.PluginSpec,
		stdin []byte, line func(string)) agent.PluginResult {
		if spec.Action != "check" {
			return runMaker(ctx, spec, stdin, line)
		}
		line("looking with " + password)
		gone := <-broken
		broken <- gone
		if !strings.Contains(string(stdin), "pg://"+password) {
			return agent.PluginResult{ExitCode: 3}
		}
		if gone {
			return agent.PluginResult{Stdout: []byte(
				`{"success":false,"output":"no database for ` + password + `"}`)}
		}
		return agent.PluginResult{Stdout: []byte(`{"success":true,"output":"it is there"}`)}
	}})
	n := p.boot(t.TempDir(), r, nil)
	s := n.connect()
	goal := shopGoal("d1")
	c := *goal.Pipeline.Steps[1].Plugin.Component
	c.Actions = []string{"create", "check", "delete"}
	goal.Pipeline.Steps[1].Plugin.Component = &c
	p.want(s, goal)
	p.untilPhase("d1", wire.PhaseReady)
	all := n.check("d1")
	if len(all.Steps) != 1 || all.Steps[0].Step != "make" || !all.Steps[0].OK {
		t.Fatalf("the check came to %+v", all)
	}
	<-broken
	broken <- true
	one := n.check("d1").Steps[0]
	if one.OK || one.Code != agent.CodePluginFailed || !strings.Contains(one.Message, "no database") {
		t.Errorf("a database that is gone was told as %+v", one)
	}
	if said := one.Message + strings.Join(one.Log, ""); strings.Contains(said, password) ||
		!strings.Contains(said, "looking with") {
		t.Errorf("the answer says %q", said)
	}
	if left := strings.Join(r.OperationLog(), " "); strings.Contains(left, "delete") {
		t.Errorf("a check changed something: %s", left)
	}
	answer, err := n.post(t.Context(), "/v1/deployments/d2/checks")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusNotFound {
		t.Errorf("a deployment that is not here was answered with %s", answer.Status)
	}
}
