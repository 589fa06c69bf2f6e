package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/internal/wait"
)

const (
	// crowd is how many deployments one node must carry.
	crowd = 200
	// crowdAtOnce is how many of them are created or removed side by side.
	crowdAtOnce = 4
	// crowdPort is where each service of the crowd listens.
	crowdPort = 8080
	// crowdRest is how long nothing happens before memory is looked at.
	crowdRest = 10 * time.Second
)

// crowdGroup fills one node with small deployments. Every round visits each of
// them through the ingress; the end removes all and looks for what is left.
func crowdGroup() group {
	return group{
		figures: []figure{
			{name: "agent_memory_200", unit: "MiB", peer: goalPeer, better: "lower", goal: 80},
			{name: "relay_memory_200", unit: "MiB", peer: goalPeer, better: "lower", goal: 5},
			{name: "apart_200", unit: "pairs", peer: goalPeer, better: "higher",
				goal: crowd * (crowd - 1)},
		},
		prepare:    prepareCrowd,
		undoWithin: 20 * time.Minute,
	}
}

func prepareCrowd(
	ctx context.Context, l *lab,
) (round, func(context.Context) error, error) {
	ids := make([]string, l.crowd)
	install := ""
	undo := func(ctx context.Context) error { return l.disperse(ctx, ids, install) }
	err := l.eachOf(ctx, func(ctx context.Context, i int) error {
		d, _, err := l.deploy(ctx, crowdProject, crowdName(i))
		ids[i] = d.Id
		return err
	})
	if err != nil {
		clean := context.WithoutCancel(ctx)
		return nil, nil, errors.Join(err, undo(clean))
	}
	install, err = l.inspect(ctx, ids[0], "relay", "",
		`{{index .Config.Labels "nullops.install"}}`)
	if err != nil {
		return nil, nil, errors.Join(err, undo(context.WithoutCancel(ctx)))
	}
	do := func(ctx context.Context, s *samples) error {
		if err := l.eachOf(ctx, l.visitOne); err != nil {
			return err
		}
		if err := wait.Sleep(ctx, crowdRest); err != nil {
			return err
		}
		agent, err := residentMiB(l.agent.cmd.Process.Pid)
		if err != nil {
			return err
		}
		relay, err := l.largestRelay(ctx, install)
		s.addOurs("agent_memory_200", agent)
		s.addOurs("relay_memory_200", relay)
		if err != nil {
			return err
		}
		tenants, err := dockertest.Tenants(ctx, l.docker, install, crowdPort)
		if err != nil {
			return err
		}
		pairs, err := dockertest.Apart(ctx, tenants)
		s.addOurs("apart_200", float64(pairs))
		return err
	}
	return do, undo, nil
}

func crowdName(i int) string { return fmt.Sprintf("crowd-%03d", i) }

// eachOf does something for every one of the crowd, a few at once.
func (l *lab) eachOf(ctx context.Context, do func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(crowdAtOnce)
	for i := range l.crowd {
		group.Go(func() error { return do(ctx, i) })
	}
	return group.Wait()
}

// visitOne asks for a page of one deployment, as its tester would. The ingress
// may learn of a new one a moment after the API reports that it is ready.
func (l *lab) visitOne(ctx context.Context, i int) error {
	return l.ingress.await(ctx, func(ctx context.Context) error {
		return checkAnswer(ctx, "http://"+l.ingressAddr+"/healthz", "web."+crowdName(i)+".qa.localhost")
	})
}

// largestRelay is the relay that takes the most memory of all.
func (l *lab) largestRelay(ctx context.Context, install string) (float64, error) {
	ids, err := l.dockerSays(ctx, "ps", "--quiet", "--filter", "label=nullops.kind=relay",
		"--filter", "label=nullops.install="+install)
	if err != nil {
		return 0, err
	}
	all := strings.Fields(ids)
	if len(all) < l.crowd {
		return 0, fmt.Errorf("%d relays for %d deployments", len(all), l.crowd)
	}
	pids, err := l.dockerSays(ctx,
		append([]string{"inspect", "--format", "{{.State.Pid}}"}, all...)...)
	if err != nil {
		return 0, err
	}
	largest := 0.0
	for text := range strings.FieldsSeq(pids) {
		pid, err := strconv.Atoi(text)
		if err != nil {
			return 0, fmt.Errorf("a relay's process is %q: %w", text, err)
		}
		mib, err := residentMiB(pid)
		if err != nil {
			return 0, err
		}
		largest = max(largest, mib)
	}
	return largest, nil
}

// disperse removes them all and makes sure that the engine has nothing left of
// this installation; others may use the same engine.
func (l *lab) disperse(ctx context.Context, ids []string, install string) error {
	err := l.eachOf(ctx, func(ctx context.Context, i int) error {
		if ids[i] == "" {
			return nil
		}
		return l.remove(ctx, ids[i])
	})
	if err != nil {
		return err
	}
	for what, list := range map[string][]string{
		"networks":   {"network", "ls", "--quiet"},
		"containers": {"ps", "--all", "--quiet"},
		"volumes":    {"volume", "ls", "--quiet"},
	} {
		left, err := l.dockerSays(ctx, append(list, "--filter", "label=nullops.deployment",
			"--filter", "label=nullops.install="+install)...)
		if err != nil {
			return err
		}
		if n := len(strings.Fields(left)); n > 0 {
			return fmt.Errorf("%d %s are left after the last deployment was removed", n, what)
		}
	}
	return nil
}
