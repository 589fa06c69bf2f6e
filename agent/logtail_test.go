package agent_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/dummy"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// A service that never becomes ready is gone when a person looks: its step's log holds what the
// last check said and the last lines that it wrote, masked.
func TestAgent_UnreadyServiceLeavesItsLastWords(t *testing.T) {
	p := newPlane(t)
	var r *dummy.Runtime
	r = dummy.New(dummy.Hooks{Plugin: runMaker, Health: func(s agent.ServiceSpec) agent.ProbeResult {
		if s.Step == "db" {
			r.AppendLog(s.Deployment, s.Step, "waiting for a disk, not for "+password)
			r.AppendLog(s.Deployment, s.Step, "could not reserve a disk for "+password)
		}
		return agent.ProbeResult{Health: wire.HealthUnhealthy, Detail: "GET / answered 503"}
	}})
	n := p.boot(t.TempDir(), r, nil)
	s := n.connect()
	goal := shopGoal("d1")
	goal.Pipeline.Steps[0].Service.Ready = &pipeline.Readiness{
		TCP: &pipeline.TCPProbe{Port: 5432}, Retries: 1}
	p.want(s, goal)
	p.untilPhase("d1", wire.PhaseFailed)
	p.until("the step's log", func() bool {
		return slices.ContainsFunc(n.lines, func(l wire.LogLine) bool {
			return strings.Contains(l.Text, "waiting for a disk")
		})
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	var said []string
	for _, l := range n.lines {
		if l.Step == "db" && l.Run == "run-d1" {
			said = append(said, l.Text)
		}
	}
	want := []string{"the service is not ready after one check: GET / answered 503; its log says: " +
		"could not reserve a disk for [secret]",
		"its last lines:", "started", "waiting for a disk, not for [secret]",
		"could not reserve a disk for [secret]"}
	// promise: U-01
	if !slices.Equal(said, want) {
		t.Errorf("the step's log is\n%s", strings.Join(said, "\n"))
	}
}
