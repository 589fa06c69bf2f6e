package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane/apiclient"
)

// latencyInput makes the trivial plugin work for half a second, and say when.
var latencyInput = strings.Replace(stepInput,
	`{"mode":"succeed"}`, `{"mode":"clock","seconds":0.5}`, 1)

// latencyGroup is how long nothing of a pipeline works between two of its steps. Two of its rows
// have goals of their own, whatever the peer does.
func latencyGroup() group {
	return group{
		figures: []figure{
			{name: "plugin_latency", unit: "ms", peer: "docker run --rm -i", better: "lower", goal: 0.15},
			{name: "plugin_latency_p50", unit: "ms", peer: goalPeer, better: "lower", goal: 40},
			{name: "plugin_latency_p99", unit: "ms", peer: goalPeer, better: "lower", goal: 80},
		},
		prepare: prepareLatency,
	}
}

func prepareLatency(
	ctx context.Context, l *lab,
) (round, func(context.Context) error, error) {
	image, network, undo, err := l.peerImage(ctx)
	if err != nil {
		return nil, nil, err
	}
	do := func(ctx context.Context, s *samples) error {
		return s.inTurn(func() error {
			ours, err := l.stepGaps(ctx)
			if err != nil {
				return err
			}
			s.addOurs("plugin_latency", computePercentile(ours, 0.5))
			s.addOurs("plugin_latency_p50", computePercentile(ours, 0.5))
			s.addOurs("plugin_latency_p99", computePercentile(ours, 0.99))
			return nil
		}, func() error {
			peer, err := l.dockerRunGaps(ctx, network, image, measuredSteps)
			if err != nil {
				return err
			}
			s.addPeer("plugin_latency", computePercentile(peer, 0.5))
			return nil
		})
	}
	return do, undo, nil
}

// span is when a plugin began and ended, by its own words.
type span struct{ began, ended int64 }

func parseSpan(metadata []apiclient.Metadatum) (s span, err error) {
	for _, m := range metadata {
		at, bad := strconv.ParseInt(m.Value, 10, 64)
		err = errors.Join(err, bad)
		switch m.Name {
		case "began":
			s.began = at
		case "ended":
			s.ended = at
		}
	}
	if err == nil && (s.began == 0 || s.ended == 0) {
		err = errors.New("a plugin does not say when it worked")
	}
	return s, err
}

// gapsOf are the times from the end of each to the beginning of the next. The first is not
// measured: its plugin starts while the network is made.
func gapsOf(spans []span) (gaps []time.Duration) {
	for i := 2; i < len(spans); i++ {
		gaps = append(gaps, time.Duration(spans[i].began-spans[i-1].ended))
	}
	return gaps
}

func (l *lab) stepGaps(ctx context.Context) ([]time.Duration, error) {
	d, _, err := l.deploy(ctx, latencyProject, "latency")
	if err != nil {
		return nil, err
	}
	steps, err := l.steps(ctx, d)
	if err != nil {
		return nil, err
	}
	var spans []span
	for _, step := range steps {
		if step.Metadata == nil {
			return nil, fmt.Errorf("step %s has no metadata", step.Key)
		}
		s, err := parseSpan(*step.Metadata)
		if err != nil {
			return nil, err
		}
		spans = append(spans, s)
	}
	return gapsOf(spans), l.remove(ctx, d.Id)
}

func (l *lab) dockerRunGaps(
	ctx context.Context, network, image string, times int,
) ([]time.Duration, error) {
	var spans []span
	for range times {
		c := exec.CommandContext(ctx, "docker", "--host", l.docker, "run", "--rm", "-i",
			"--network", network, image)
		c.Stdin = strings.NewReader(latencyInput)
		out, err := c.Output()
		if err != nil {
			return nil, errors.Join(err, errors.New(string(out)))
		}
		var answer struct{ Metadata []apiclient.Metadatum }
		if err := json.Unmarshal(out, &answer); err != nil {
			return nil, fmt.Errorf("what docker run printed: %w", err)
		}
		s, err := parseSpan(answer.Metadata)
		if err != nil {
			return nil, err
		}
		spans = append(spans, s)
	}
	return gapsOf(spans), nil
}
