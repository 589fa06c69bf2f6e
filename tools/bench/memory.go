package main

import (
	"context"
	"errors"
	"time"

	"github.com/nullops/nullops/internal/wait"
)

// idleFor is how long a process does nothing before it is looked at.
const idleFor = 20 * time.Second

func memoryGroup() group {
	g := group{prepare: prepareMemory}
	for _, f := range []struct {
		name string
		goal float64
	}{{"agent", 30}, {"controlplane", 60}, {"relay", 5}} {
		g.figures = append(g.figures, figure{name: "idle_memory_" + f.name, unit: "MiB",
			peer: goalPeer, better: "lower", goal: f.goal})
	}
	return g
}

func prepareMemory(
	ctx context.Context, l *lab,
) (round, func(context.Context) error, error) {
	d, _, err := l.deploy(ctx, webProject, "memory")
	if err != nil {
		return nil, nil, err
	}
	do := func(ctx context.Context, s *samples) error {
		if err := l.restart(ctx); err != nil {
			return err
		}
		if err := wait.Sleep(ctx, idleFor); err != nil {
			return err
		}
		relay, err := l.relayPID(ctx, d.Id)
		if err != nil {
			return err
		}
		for name, pid := range map[string]int{"agent": l.agent.cmd.Process.Pid,
			"controlplane": l.controlPlane.cmd.Process.Pid, "relay": relay} {
			mib, err := residentMiB(pid)
			if err != nil {
				return err
			}
			s.addOurs("idle_memory_"+name, mib)
		}
		return nil
	}
	return do, func(ctx context.Context) error { return l.remove(ctx, d.Id) }, nil
}

// restart gives every run a fresh control plane and agent; the deployment stays.
func (l *lab) restart(ctx context.Context) error {
	if err := errors.Join(l.agent.stop(), l.controlPlane.stop()); err != nil {
		return err
	}
	if err := l.startControlPlane(ctx); err != nil {
		return err
	}
	return l.startAgent(ctx)
}
