package agent_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/nullops/nullops/agent/dummy"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// limiting is a runtime that holds deployments to their projects' limits.
type limiting struct {
	*dummy.Runtime
	mu   sync.Mutex
	said []string
}

func (l *limiting) LimitDeployment(
	_ context.Context, deployment string, limits pipeline.Resources, containers int,
) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.said = append(l.said, fmt.Sprint(deployment, limits, containers))
	return nil
}

// A runtime that can hold a deployment to its project's limit is told what that is, and how many
// services and jobs there are.
func TestAgent_PassesTheProjectsLimitOn(t *testing.T) {
	p := newPlane(t)
	r := &limiting{Runtime: dummy.New(dummy.Hooks{Plugin: runMaker, Health: endsWith(0, always)})}
	g := migrationGoal("d1")
	g.Limits = pipeline.Resources{CPU: 1.5, MemoryMiB: 256}
	p.want(p.boot(t.TempDir(), r, nil).connect(), g)
	p.untilPhase("d1", wire.PhaseReady)
	r.mu.Lock()
	defer r.mu.Unlock()
	if want := fmt.Sprint("d1", g.Limits, 3); !slices.Contains(r.said, want) {
		t.Errorf("it was told %q, and not %q", r.said, want)
	}
}
