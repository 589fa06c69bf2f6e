package agent_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/dummy"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/internal/previoustest"
	"github.com/nullops/nullops/pipeline"
)

// The folders that agents of the previous release leave are taken over: every deployment with its
// phase, steps and outputs, and the history. Without its engine the agent knows nothing but its
// folder, and does nothing.
func TestNew_KeepsPreviousFolders(t *testing.T) {
	t.Parallel()
	if previoustest.IsRecording() {
		dir := t.TempDir()
		liveHalf(t, dir)
		previoustest.Record(t, "agent-half.tar.gz", previoustest.Archive(t, dir))
		return
	}
	for _, name := range previoustest.Names(t, "agent-*.tar.gz") {
		dir := previoustest.Unpack(t, name)
		before, err := agent.ReadStateDump(dir)
		if err != nil {
			t.Fatal(err)
		}
		p := newPlane(t)
		for _, d := range before.Deployments {
			if d.Goal != nil {
				p.want(nil, *d.Goal)
			}
		}
		r := dummy.New(dummy.Hooks{Fail: func(string, string) error {
			return fmt.Errorf("%w: it does not run", agent.ErrUnavailable)
		}})
		n := p.boot(dir, r, nil)
		n.connect()
		p.until("the welcome", func() bool { return len(p.welcome.Deployments) > 0 })
		phases := map[string]wire.Phase{}
		p.update(func() {
			for _, d := range p.welcome.Deployments {
				phases[d.Deployment] = d.Phase
			}
		})
		n.stop()
		after, err := agent.ReadStateDump(dir)
		if err != nil || len(after.Damaged) > 0 {
			t.Fatalf("%s: damaged %v, %v", name, after.Damaged, err)
		}
		// promise: R-03
		if len(before.Deployments) == 0 || len(before.History) == 0 ||
			len(after.History) < len(before.History) {
			t.Errorf("%s: %d deployments with a history of %d became %d with %d", name,
				len(before.Deployments), len(before.History), len(after.Deployments), len(after.History))
		}
		for _, d := range before.Deployments {
			// A recorded question whose time is over by now has been answered by that.
			late := slices.ContainsFunc(d.Steps, func(s agent.StepDump) bool {
				return s.Status == pipeline.StepWaiting && s.Deadline.Before(time.Now())
			})
			if late {
				d.Phase = wire.PhaseUndoing
			}
			same := func(other agent.DeploymentDump) bool {
				return other.ID == d.ID && other.Phase == d.Phase &&
					(late || fmt.Sprint(other.Steps) == fmt.Sprint(d.Steps))
			}
			if !slices.ContainsFunc(after.Deployments, same) || phases[d.ID] != d.Phase {
				t.Errorf("%s: %s is %s and reported as %q; kept: %+v", name, d.ID, d.Phase, phases[d.ID],
					after.Deployments)
			}
		}
		if did := r.OperationLog(); len(did) > 0 {
			t.Errorf("%s: the agent did %v", name, did)
		}
	}
}
