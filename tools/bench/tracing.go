package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
)

// The ingress with tracing, of one request in a hundred, and without: promise O-04.
const (
	tracedRow = "ingress_local_rps_traced"
	tracedP99 = "ingress_local_p99_traced"
	// tracedSlices is how often both sides take turns in one round, for a second each. A machine
	// drifts by more within seconds than tracing may cost: only neighbours can be compared.
	tracedSlices = 8
)

// tracingGroup measures what tracing costs a request through the ingress. Without a collector
// there is no tracing: the code on a request's way asks for nil, and that is the peer.
func tracingGroup() group {
	return group{prepare: prepareTracing, figures: []figure{
		{name: tracedRow, unit: "requests/s", peer: "the same with tracing off", better: "higher",
			goal: 0.97},
		{name: tracedP99, unit: "ms", peer: "the same with tracing off", better: "lower"},
	}}
}

func prepareTracing(ctx context.Context, l *lab) (round, func(context.Context) error, error) {
	d, _, err := l.deploy(ctx, webProject, "traffic")
	if err != nil {
		return nil, nil, err
	}
	// A collector that takes everything at once, in this process.
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	off, err := l.startLocalIngress("ingress-untraced")
	var on contestant
	if err == nil {
		on, err = l.startLocalIngress("ingress-traced",
			"OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL,
			"OTEL_TRACES_SAMPLER=parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG=0.01")
	}
	undo := func(ctx context.Context) error {
		defer collector.Close()
		return errors.Join(off.server.stop(), on.server.stop(), l.remove(ctx, d.Id))
	}
	if err == nil {
		err = errors.Join(awaitTraffic(ctx, off), awaitTraffic(ctx, on))
	}
	if err != nil {
		return nil, nil, errors.Join(err, undo(ctx))
	}
	do := func(ctx context.Context, s *samples) error { return l.compareTracing(ctx, s, on, off) }
	return do, undo, nil
}

// compareTracing loads both ingresses in short turns, and begins with the other one each time.
func (l *lab) compareTracing(ctx context.Context, s *samples, on, off contestant) error {
	var traced, untraced float64
	load := func(c contestant, sum *float64) func() error {
		return func() error {
			perSecond, _, err := loadPlain(ctx, c, "1")
			*sum += perSecond / tracedSlices
			return err
		}
	}
	turns := samples{turn: s.turn}
	for range tracedSlices {
		if err := turns.inTurn(load(on, &traced), load(off, &untraced)); err != nil {
			return err
		}
		turns.turn++
	}
	s.addOurs(tracedRow, traced)
	s.addPeer(tracedRow, untraced)
	return s.inTurn(func() error {
		p99, err := measureOpenLoop(ctx, on, false, l.openRate())
		s.addOurs(tracedP99, p99)
		return err
	}, func() error {
		p99, err := measureOpenLoop(ctx, off, false, l.openRate())
		s.addPeer(tracedP99, p99)
		return err
	})
}

// startLocalIngress starts one more ingress that gets sockets passed.
func (l *lab) startLocalIngress(name string, env ...string) (c contestant, err error) {
	c = contestant{key: name, host: trafficHost}
	for _, address := range []*string{&c.address, &c.secure} {
		if *address, err = freeAddress(); err != nil {
			return c, err
		}
	}
	c.server, err = startServer(l.dir, name, slices.Concat(
		[]string{"NULLOPS_INGRESS_SOCKETS=" + l.sockets()}, l.settings, env), l.binary, "ingress",
		"--ingress.listen="+c.address, "--ingress.secure="+c.secure)
	return c, err
}
