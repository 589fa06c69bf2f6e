package agent_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/dummy"
	"github.com/nullops/nullops/agent/wire"
)

// The last check's output is reported for healthy services too: one line, bounded, and without
// secrets, even where it is cut.
func TestAgent_TellsWhatTheLastCheckSaid(t *testing.T) {
	p := newPlane(t)
	const shown = 512
	cut := strings.Repeat("x", shown-3) + password
	n := p.boot(t.TempDir(), dummy.New(dummy.Hooks{Plugin: runMaker,
		Health: func(s agent.ServiceSpec) agent.ProbeResult {
			said := " 2 of 2 \n\tanswered with " + password + "\n"
			if s.Step == "web" {
				said = cut
			}
			return agent.ProbeResult{Health: wire.HealthHealthy, Detail: said}
		}}), nil)
	p.want(n.connect(), shopGoal("d1"))
	p.untilPhase("d1", wire.PhaseReady)
	var db, web string
	p.until("what the checks said", func() bool {
		for _, s := range p.vitals.Services {
			if s.Step == "web" {
				web = s.Detail
			} else {
				db = s.Detail
			}
		}
		return db != "" && web != ""
	})
	if db != "2 of 2 answered with [secret]" {
		t.Errorf("one check said %q", db)
	}
	if web != strings.Repeat("x", shown-3)+"[se…" {
		t.Errorf("one that was cut said %q", web)
	}
}

// A slow start shows signs of life: each result of the readiness check is one, whatever it is.
// Without them the service looked stuck.
func TestAgent_ServiceThatWaitsForItsCheckGivesSigns(t *testing.T) {
	p := newPlane(t)
	var ready atomic.Bool
	n := p.boot(t.TempDir(), dummy.New(dummy.Hooks{Plugin: runMaker,
		Health: func(agent.ServiceSpec) agent.ProbeResult {
			if ready.Load() {
				return agent.ProbeResult{Health: wire.HealthHealthy}
			}
			return agent.ProbeResult{Health: wire.HealthStarting}
		}}), nil)
	p.want(n.connect(), shopGoal("d1"))
	p.until("two signs of life", func() bool { return p.signs["db"] >= 2 })
	ready.Store(true)
	p.untilPhase("d1", wire.PhaseReady)
}
