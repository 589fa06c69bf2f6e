package agent_test

import (
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/dummy"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/agent/wire/wiretest"
)

// A write to the disk that does not come back: the link stays alive meanwhile, and in the end the
// agent exits, so that it is restarted.
//
// fault: F24
func TestAgent_EndsWhenItsDiskHangs(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	hangs, free := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(free) })
	var hung atomic.Bool
	var armed atomic.Bool
	pipes := wiretest.NewPipeListener()
	a, err := agent.New(agent.Config{Data: t.TempDir(), Token: &p.token, Build: "dev",
		Listener: pipes, Log: slog.New(slog.DiscardHandler), VitalsEvery: 50 * time.Millisecond,
		DiskPatience: 5 * time.Second, Failpoint: func(name string) error {
			if name == "journal.sync" && armed.Load() && hung.CompareAndSwap(false, true) {
				close(hangs)
				<-free
			}
			return nil
		}}, dummy.New(dummy.Hooks{Plugin: runMaker}))
	if err != nil {
		t.Fatal(err)
	}
	n := &node{plane: p, agent: a, pipes: pipes, done: make(chan error, 1)}
	go func() { n.done <- a.Run(t.Context()) }()
	s := n.connect()
	armed.Store(true)
	p.want(s, shopGoal("d1"))
	select {
	case <-hangs:
	case <-time.After(time.Minute):
		t.Fatal("the goal never came to the disk")
	}
	began := time.Now()
	p.until("a sign of life while the disk hangs",
		func() bool { return p.vitals.At.After(began) })
	select {
	case err := <-n.done:
		if !errors.Is(err, agent.ErrDiskHangs) {
			t.Errorf("the agent ended with: %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the agent does not end although its disk hangs")
	}
	if p.phase("d1") == wire.PhaseReady {
		t.Error("something went on without the journal")
	}
}
