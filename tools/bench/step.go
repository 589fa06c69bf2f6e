package main

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"time"
)

// stepInput is what the agent writes to the trivial plugin's stdin.
const stepInput = `{"action":"create","parameters":{"mode":"succeed"},"deployment":{` +
	`"id":"01890000-0000-7000-8000-000000000000","name":"steps","environment":"qa",` +
	`"project":"bench-steps","domain":"localhost"},"run":{` +
	`"id":"01890000-0000-7000-8000-000000000001","step":"step-01","attempt":1}}` + "\n"

func stepGroup() group {
	return group{
		figures: []figure{{name: "plugin_step", unit: "ms", peer: "docker run --rm -i",
			better: "lower", goal: 0.45}},
		prepare: prepareSteps,
	}
}

// pipelineGroups are what a person waits for, from the request to the end of the
// last of twenty steps: without a network on both sides, and with one.
func pipelineGroups() []group {
	var groups []group
	for _, p := range []struct{ row, project, network string }{
		{"pipeline_20_steps", twentyProject, "none"},
		{"pipeline_20_steps_network", joinedProject, peerNetworkName}} {
		groups = append(groups, group{
			figures: []figure{{name: p.row, unit: "s", peer: "20 × docker run --rm -i",
				better: "lower", goal: 0.5}},
			prepare: func(ctx context.Context, l *lab) (round, func(context.Context) error, error) {
				return preparePipeline(ctx, l, p.row, p.project, p.network)
			},
		})
	}
	return groups
}

func preparePipeline(
	ctx context.Context, l *lab, row, project, network string,
) (round, func(context.Context) error, error) {
	image, _, undo, err := l.peerImage(ctx)
	if err != nil {
		return nil, nil, err
	}
	do := func(ctx context.Context, s *samples) error {
		return s.inTurn(func() error {
			d, ours, err := l.deploy(ctx, project, "twenty")
			if err != nil {
				return err
			}
			s.addOurs(row, ours.Seconds())
			// Gone before the peer begins: both have the machine to themselves.
			return l.remove(ctx, d.Id)
		}, func() error {
			peer, err := l.dockerRunTime(ctx, network, image, twentySteps)
			s.addPeer(row, peer.Seconds())
			return err
		})
	}
	return do, undo, nil
}

// peerImage has the trivial plugin on the node, and a network for the peer.
func (l *lab) peerImage(
	ctx context.Context,
) (image, network string, undo func(context.Context) error, err error) {
	image = l.registry + "/test/hostile:1.0.0"
	if _, err := l.dockerSays(ctx, "pull", "--quiet", image); err != nil {
		return "", "", nil, err
	}
	network, undo, err = l.peerNetwork(ctx)
	return image, network, undo, err
}

func prepareSteps(
	ctx context.Context, l *lab,
) (round, func(context.Context) error, error) {
	image, network, undo, err := l.peerImage(ctx)
	if err != nil {
		return nil, nil, err
	}
	do := func(ctx context.Context, s *samples) error {
		return s.inTurn(func() error {
			ours, err := l.stepTime(ctx, "qa")
			s.addOurs("plugin_step", toMilliseconds(ours))
			return err
		}, func() error {
			peer, err := l.dockerRunTime(ctx, network, image, measuredSteps-1)
			s.addPeer("plugin_step", toMilliseconds(peer/(measuredSteps-1)))
			return err
		})
	}
	return do, undo, nil
}

// peerNetworkName is the network of the peer's containers.
const peerNetworkName = "bench-peer"

// peerNetwork is a network like the one that ours joins. The engine's default one
// may be missing: another engine on this machine can have it.
func (l *lab) peerNetwork(ctx context.Context) (string, func(context.Context) error, error) {
	_, err := l.dockerSays(ctx, "network", "create", "--subnet", "10.214.0.0/24",
		peerNetworkName)
	return peerNetworkName, func(ctx context.Context) error {
		_, err := l.dockerSays(ctx, "network", "rm", peerNetworkName)
		return err
	}, err
}

// stepTime is the time from the end of one step to the end of the next.
func (l *lab) stepTime(ctx context.Context, environment string) (time.Duration, error) {
	d, _, err := l.deployIn(ctx, environment, stepsProject, "steps")
	if err != nil {
		return 0, err
	}
	steps, err := l.steps(ctx, d)
	if err != nil {
		return 0, err
	}
	first, last := steps[0].EndedAt, steps[len(steps)-1].EndedAt
	if first == nil || last == nil {
		return 0, errors.New("a step of a ready deployment has no end")
	}
	return last.Sub(*first) / time.Duration(len(steps)-1), l.remove(ctx, d.Id)
}

// dockerRunTime is how long so many of them take in a row.
func (l *lab) dockerRunTime(
	ctx context.Context, network, image string, times int,
) (time.Duration, error) {
	began := time.Now()
	for range times {
		c := exec.CommandContext(ctx, "docker", "--host", l.docker, "run", "--rm", "-i",
			"--network", network, image)
		c.Stdin = strings.NewReader(stepInput)
		out, err := c.CombinedOutput()
		if err != nil {
			return 0, errors.Join(err, errors.New(string(out)))
		}
	}
	return time.Since(began), nil
}

func toMilliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
