package agent_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/dummy"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/internal/testpart"
	"github.com/nullops/nullops/pipeline"
)

// talkative is an engine whose services never stop writing.
type talkative struct{ *dummy.Runtime }

func (talkative) Logs(
	ctx context.Context, _ string, _ pipeline.StepKey, _ agent.LogOptions,
) (io.ReadCloser, error) {
	r, w := io.Pipe()
	line := []byte("2026-11-21T12:00:00Z " + strings.Repeat("service ", 1000) + "\n")
	go func() {
		for ctx.Err() == nil {
			if _, err := w.Write(line); err != nil {
				return
			}
		}
		_ = w.Close()
	}()
	return r, nil
}

// A plugin floods its log and services flood theirs, with readers that do not keep up: signs of
// life continue, another run ends, and gaps in the flood are marked.
//
// fault: F33, F50
func TestAgent_FloodsDelayNothing(t *testing.T) {
	testpart.Rotate(t)
	p := newPlane(t)
	ended := make(chan struct{})
	flooding := make(chan struct{})
	var lines atomic.Int64
	r := talkative{dummy.New(dummy.Hooks{Plugin: func(ctx context.Context, s agent.PluginSpec,
		stdin []byte, line func(string)) agent.PluginResult {
		if s.Deployment == "d1" && s.Action == "create" {
			close(flooding)
			flood(ctx, ended, &lines, line)
		}
		return runMaker(ctx, s, stdin, line)
	}})}
	n := p.boot(t.TempDir(), r, nil)
	s, logs := n.quiet(t)
	p.want(s, shopGoal("d0"))
	p.untilPhase("d0", wire.PhaseReady)
	for range 3 {
		n.openLog(t, "d0")
	}
	p.want(s, shopGoal("d1"))
	<-flooding
	eventually(t, "more than the ring can hold", func() bool { return lines.Load() > 3*4096 })
	seen := 0
	var last time.Time
	p.until("signs of life", func() bool {
		if p.vitals.At.After(last) {
			last = p.vitals.At
			seen++
		}
		return seen > 5
	})
	p.want(s, shopGoal("d2"))
	p.untilPhase("d2", wire.PhaseReady)
	// Now a reader connects.
	missing, bytes := countMarkers(t, logs, "run-d1")
	if missing == 0 || bytes == 0 {
		t.Errorf("%d lines are told to be missing, %d bytes came", missing, bytes)
	}
	close(ended)
	p.untilPhase("d1", wire.PhaseReady)
}

func flood(ctx context.Context, ended chan struct{}, lines *atomic.Int64, line func(string)) {
	text := strings.Repeat("x", 20_000)
	for {
		select {
		case <-ctx.Done():
			return
		case <-ended:
			return
		default:
		}
		line(text)
		lines.Add(1)
	}
}

// quiet opens a session, and a log connection that nobody reads.
func (n *node) quiet(t *testing.T) (session, logs *wire.Session) {
	t.Helper()
	conn, err := n.dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if session, err = wire.OpenSession(t.Context(), conn); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close(wire.CodeGone, "the test is over") })
	go n.serve(session)
	if conn, err = n.dial(t.Context()); err != nil {
		t.Fatal(err)
	}
	if logs, err = wire.OpenRunLogs(t.Context(), conn); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = logs.Close(wire.CodeGone, "the test is over") })
	return session, logs
}

// openLog asks for a service's log, and reads nothing of it.
func (n *node) openLog(t *testing.T, deployment string) {
	t.Helper()
	client := &http.Client{Transport: wire.NewTransport(
		func(ctx context.Context) (net.Conn, error) { return n.dial(ctx) })}
	answer, err := client.Get("http://agent/v1/deployments/" + deployment +
		"/services/web/logs?follow=true")
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("open the log: %v, %v", answer, err)
	}
	t.Cleanup(func() { _ = answer.Body.Close() })
}

// countMarkers reads some batches of a run's log. Numbers show each line that is left
// out, and lines say how many there are before them.
func countMarkers(t *testing.T, logs *wire.Session, run string) (missing int64, bytes int) {
	t.Helper()
	var last int64
	for range 8 {
		r, err := logs.Receive(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		batch, ok := r.(wire.LogBatch)
		if !ok {
			t.Fatalf("the log connection says %T", r)
		}
		for _, l := range batch.Lines {
			if len(l.Text) > 16<<10 {
				t.Fatalf("a line of %d bytes", len(l.Text))
			}
			if l.Run != run || l.Step != "make" {
				continue
			}
			if last > 0 && l.Number != last+1+l.Dropped {
				t.Fatalf("line %d comes after %d and says that %d are missing", l.Number, last,
					l.Dropped)
			}
			last = l.Number
			missing += l.Dropped
			bytes += len(l.Text)
		}
		if err := logs.Send(t.Context(), wire.Ack{Seq: batch.Seq}); err != nil {
			t.Fatal(err)
		}
	}
	return missing, bytes
}

// A plugin that fills its log is reported, with how much is missing.
func TestAgent_FullLogSaysSo(t *testing.T) {
	p := newPlane(t)
	r := dummy.New(dummy.Hooks{Plugin: func(ctx context.Context, s agent.PluginSpec, stdin []byte,
		line func(string)) agent.PluginResult {
		result := runMaker(ctx, s, stdin, line)
		result.Dropped = 5000
		return result
	}})
	n := p.boot(t.TempDir(), r, nil)
	p.want(n.connect(), shopGoal("d1"))
	p.untilPhase("d1", wire.PhaseReady)
	p.until("the marker", func() bool {
		for _, l := range n.lines {
			if l.Step == "make" && l.Dropped == 5000 && l.Number == 5002 {
				return strings.Contains(l.Text, "the log is full")
			}
		}
		return false
	})
}
