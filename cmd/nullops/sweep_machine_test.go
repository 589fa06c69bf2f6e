package main_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/dummy"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/pipeline"
)

// machine is a node and its state.
type machine interface {
	// ledger lists what plugins did, in order.
	ledger() []string
	nothingLeft(t *testing.T, deployment string)
}

// realMachine has an agent process on a real engine.
type realMachine struct {
	*node
	book *ledger
	name string
}

func (m realMachine) ledger() []string { return m.book.of(m.name) }

// dummyMachine has a real agent too, on an engine made of knobs, and in the
// test's own process: nothing of what dies here is on the node.
type dummyMachine struct {
	engine  *dummy.Runtime
	knobs   dummy.Hooks
	creates atomic.Int32
}

func newDummyMachine(c *teller, s *plot) *dummyMachine {
	c.t.Helper()
	m := &dummyMachine{knobs: dummy.Hooks{Serve: oneAnswer}}
	if s.bend != nil {
		s.bend(m)
	}
	m.enrol(c.t, c.p, "alpha", "qa", agent.Config{Data: c.t.TempDir(), Build: sweepBuild})
	return m
}

// enrol adds a node, and starts its agent.
func (m *dummyMachine) enrol(t *testing.T, p *product, name, environment string, c agent.Config) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var made apiclient.NodeEnrolment
	p.admin.want(t, http.StatusCreated, http.MethodPost, "/nodes",
		object{"name": name, "environment": environment, "address": l.Addr().String()}, &made)
	token, err := wire.ParseToken(made.Token)
	if err != nil {
		t.Fatal(err)
	}
	m.engine = dummy.New(m.knobs)
	c.Token, c.Listener, c.Log = &token, l, slog.New(slog.DiscardHandler)
	a, err := agent.New(c, m.engine)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the agent ended with: %v", err)
		}
	})
	(&node{p: p, name: name}).await(t, apiclient.NodeStatusOnline)
}

func (m *dummyMachine) ledger() []string {
	return slices.DeleteFunc(m.engine.OperationLog(), func(line string) bool {
		return strings.HasPrefix(line, "start ")
	})
}

// nothingLeft waits: what was forgotten goes when the agent hears of it.
func (m *dummyMachine) nothingLeft(t *testing.T, _ string) {
	t.Helper()
	eventually(t, "nothing is left on the node", func() string {
		left, err := m.engine.List(t.Context())
		if err != nil || len(left) > 0 {
			return fmt.Sprint(left, err)
		}
		return ""
	})
}

// oneAnswer serves HTTP on a connection to a service.
func oneAnswer(deployment string, service pipeline.StepKey, _ int, conn net.Conn) {
	defer func() { _ = conn.Close() }()
	if _, err := http.ReadRequest(bufio.NewReader(conn)); err != nil {
		return
	}
	text := string(service) + " of " + deployment
	_, _ = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		len(text), text)
}

// failsOnce lets the first plugin that is run fail.
func failsOnce(m *dummyMachine) {
	m.knobs.Plugin = func(_ context.Context, p agent.PluginSpec, _ []byte,
		_ func(string)) agent.PluginResult {
		if p.Action == "create" && m.creates.Add(1) == 1 {
			return agent.PluginResult{Stdout: []byte(`{"success":false,"output":"not yet"}`)}
		}
		return agent.PluginResult{Stdout: []byte(`{"success":true}`)}
	}
}

// hangPlugins lets plugins run until they are stopped.
func hangPlugins(m *dummyMachine) {
	m.knobs.Plugin = func(ctx context.Context, p agent.PluginSpec, _ []byte,
		_ func(string)) agent.PluginResult {
		if p.Action == "create" {
			<-ctx.Done()
		}
		return agent.PluginResult{Stdout: []byte(`{"success":true}`)}
	}
}

// refuseUndo lets plugins say no when they are to undo what they did.
func refuseUndo(m *dummyMachine) {
	m.knobs.Plugin = func(_ context.Context, p agent.PluginSpec, _ []byte,
		_ func(string)) agent.PluginResult {
		if p.Action == "delete" {
			return agent.PluginResult{Stdout: []byte(`{"success":false,"output":"I keep it"}`)}
		}
		return agent.PluginResult{Stdout: []byte(`{"success":true}`)}
	}
}
