package engine_test

import (
	"testing"
	"time"

	"github.com/nullops/nullops/agent/engine"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// A missing relay is recreated although every service runs: without it they cannot be reached. So
// is a network, and its services restart.
func TestReady_RelayIsMissed(t *testing.T) {
	t.Parallel()
	p := pipeline.Pipeline{Format: 1, Order: []pipeline.StepKey{"web"}, Steps: []pipeline.Step{
		{Key: "web", Service: &pipeline.ServiceStep{Name: "web", Image: &pipeline.Image{}}}}}
	now := time.Unix(1_700_000_000, 0)
	m := engine.New("d")
	stepAndCheck(t, m, now, engine.GoalSet{Goal: wire.Goal{Deployment: "d", Generation: 1, Run: "r",
		Want: wire.WantPresent, Ready: true, Pipeline: p}})
	whole := engine.ObjectsListed{Network: true, Relay: true, Running: []pipeline.StepKey{"web"}}
	look := func(l engine.ObjectsListed) (did []engine.StartOperation) {
		now = now.Add(time.Second)
		l.Began = now
		for _, e := range stepAndCheck(t, m, now, l) {
			if do, ok := e.(engine.StartOperation); ok {
				did = append(did, do)
			}
		}
		return did
	}
	if did := look(whole); len(did) > 0 {
		t.Fatalf("nothing is missing, and it does %+v", did)
	}
	relayless := whole
	relayless.Relay = false
	did := look(relayless)
	if len(did) != 1 || did[0].Kind != engine.Prepare {
		t.Fatalf("without a relay it does %+v", did)
	}
	stepAndCheck(t, m, now, engine.OperationEnded{Op: did[0].Op,
		Result: engine.Result{Outcome: engine.OutcomeOK}})
	if did := look(whole); len(did) > 0 {
		t.Errorf("it is there again, and still it does %+v", did)
	}
}
