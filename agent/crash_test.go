package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/dummy"
	"github.com/nullops/nullops/agent/engine"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/internal/testpart"
	"github.com/nullops/nullops/pipeline"
)

// guillotine ends an agent at the k-th visit of a failpoint: nothing that
// would follow happens, as with kill -9.
type guillotine struct {
	at     int64
	visits atomic.Int64
	fell   chan struct{}
	dead   atomic.Bool
	kill   atomic.Pointer[context.CancelFunc]
}

func (g *guillotine) hit(string) error {
	if g.dead.Load() {
		return errors.New("dead")
	}
	if g.visits.Add(1) != g.at {
		return nil
	}
	g.dead.Store(true)
	if kill := g.kill.Load(); kill != nil {
		(*kill)()
	}
	close(g.fell)
	return errors.New("dead")
}

// The agent dies at every failpoint of a whole life in turn, and starts again
// on what it left. Each time the deployment settles, and goes without a trace.
func TestAgent_SurvivesDeathAtEveryPlace(t *testing.T) {
	const most = 250
	var end atomic.Int64
	end.Store(most)
	var places []int64
	for k := int64(1); k < most; k++ {
		places = append(places, k)
	}
	places = testpart.Pick(t, places)
	t.Run("visits", func(t *testing.T) {
		for _, k := range places {
			t.Run(fmt.Sprint(k), func(t *testing.T) {
				t.Parallel()
				if k < end.Load() && dieAt(t, k) {
					end.Store(min(k, end.Load()))
				}
			})
		}
	})
	if end.Load() < 40 || end.Load() == most {
		t.Errorf("a life has %d places; the sweep is blind or too short", end.Load())
	}
}

// dieAt reports whether the agent lived longer than k visits.
func dieAt(t *testing.T, k int64) bool {
	p := newPlane(t)
	r := dummy.New(dummy.Hooks{Plugin: runMaker})
	dir := t.TempDir()
	g := &guillotine{at: k, fell: make(chan struct{})}
	n := p.boot(dir, r, g.hit)
	g.kill.Store(&n.cancel)
	s, err := n.tryConnect()
	if err != nil && !g.dead.Load() {
		t.Fatal(err)
	}
	p.want(s, shopGoal("d1"))
	lived := waitFor(p, g.fell, "d1", wire.PhaseReady)
	if lived {
		p.want(s, goneGoal("d1"))
		lived = waitFor(p, g.fell, "d1", wire.PhaseRemoved)
	}
	n.stop()
	if lived {
		return true
	}
	n = p.boot(dir, r, nil)
	s = n.connect()
	p.until("an end", func() bool {
		phase := p.phase("d1")
		return slices.Contains([]wire.Phase{wire.PhaseReady, wire.PhaseFailed, wire.PhaseRemoved}, phase)
	})
	p.want(s, goneGoal("d1"))
	p.untilPhase("d1", wire.PhaseRemoved)
	// promise: N-150
	if left := listObjects(t, r); len(left) > 0 {
		t.Errorf("left %v", left)
	}
	checkContiguous(t, p)
	checkOnce(t, r)
	return false
}

// The agent is killed twenty times in one run, each time a little later. The run ends all the
// same, nothing runs twice, and nothing is left behind.
//
// fault: F21
func TestAgent_EndsARunThoughKilledAgainAndAgain(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	r := dummy.New(dummy.Hooks{Plugin: runMaker})
	dir := t.TempDir()
	p.want(nil, shopGoal("d1"))
	for k := range int64(20) {
		g := &guillotine{at: 1 + k, fell: make(chan struct{})}
		n := p.boot(dir, r, g.hit)
		g.kill.Store(&n.cancel)
		if _, err := n.tryConnect(); err != nil && !g.dead.Load() {
			t.Fatal(err)
		}
		ended := waitFor(p, g.fell, "d1", wire.PhaseReady)
		n.stop()
		if ended {
			t.Fatalf("the run ended before life %d did", k+1)
		}
	}
	s := p.boot(dir, r, nil).connect()
	p.until("an end", func() bool {
		return slices.Contains([]wire.Phase{wire.PhaseReady, wire.PhaseFailed}, p.phase("d1"))
	})
	p.want(s, goneGoal("d1"))
	p.untilPhase("d1", wire.PhaseRemoved)
	if left := listObjects(t, r); len(left) > 0 {
		t.Errorf("left %v", left)
	}
	checkContiguous(t, p)
	checkOnce(t, r)
}

// The node reboots: its containers have ended, and what the agent kept in memory is gone. The
// services start again in their order, with their secrets, and no plugin runs again.
//
// fault: F29
func TestAgent_StartsServicesInOrderAfterAReboot(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	r := dummy.New(dummy.Hooks{Plugin: runMaker})
	dir := t.TempDir()
	n := p.boot(dir, r, nil)
	p.want(n.connect(), shopGoal("d1"))
	p.untilPhase("d1", wire.PhaseReady)
	n.stop()
	before := len(r.OperationLog())
	r.CrashService("d1", "web", 137)
	r.CrashService("d1", "db", 137)
	ready := shopGoal("d1")
	ready.Ready = true
	p.want(nil, ready)
	p.boot(dir, r, nil).connect()
	eventually(t, "both services", func() bool { return len(r.OperationLog()) >= before+2 })
	if again := r.OperationLog()[before:]; !slices.Equal(again, []string{"start db", "start web"}) {
		t.Errorf("after the reboot ran %v", again)
	}
	db, _ := r.Service("d1", "db")
	web, _ := r.Service("d1", "web")
	if db.SecretEnv["PASSWORD"] != password || web.SecretEnv["URL"] != "pg://"+password {
		t.Errorf("db got %v, web got %v", db.SecretEnv, web.SecretEnv)
	}
}

func waitFor(p *plane, fell <-chan struct{}, deployment string, phase wire.Phase) bool {
	deadline := time.After(patience)
	for {
		p.mu.Lock()
		there, changed := p.phase(deployment) == phase, p.changed
		p.mu.Unlock()
		if there {
			return true
		}
		select {
		case <-fell:
			return false
		case <-changed:
		case <-deadline:
			p.t.Fatalf("%s did not come:%s", phase, p.story())
		}
	}
}

// checkOnce: the plugin, which is not idempotent, ran at most once, and was
// undone if it ran.
func checkOnce(t *testing.T, r *dummy.Runtime) {
	t.Helper()
	ledger := strings.Join(r.OperationLog(), ", ")
	created := strings.Count(ledger, "create make")
	if created > 1 {
		t.Errorf("the plugin ran %d times: %s", created, ledger)
	}
	undone := strings.LastIndex(ledger, "delete make") > strings.Index(ledger, "create make")
	if created == 1 && !undone {
		t.Errorf("the plugin was not undone: %s", ledger)
	}
}

// The journal is gone or damaged: the control plane's goals bring everything
// back, and no plugin runs again.
func TestAgent_ComesBackWithoutItsJournal(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, dir string){
		"deleted": removeFiles, "flipped": flipBit, "emptied": emptyFiles, "no state": wipeState,
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlane(t)
			r := dummy.New(dummy.Hooks{Plugin: runMaker})
			dir := t.TempDir()
			n := p.boot(dir, r, nil)
			p.want(n.connect(), shopGoal("d1"))
			p.untilPhase("d1", wire.PhaseReady)
			n.stop()
			damage(t, dir)
			r.RemoveAllObjects("d1")
			if name == "no state" {
				// As fleet does when an agent counts lower than the database.
				p.update(func() { p.last = 0 })
			}
			ready := shopGoal("d1")
			ready.Ready = true
			p.want(nil, ready)
			n = p.boot(dir, r, nil)
			s := n.connect()
			// promise: N-160
			eventually(t, "the services", func() bool {
				_, db := r.Service("d1", "db")
				web, up := r.Service("d1", "web")
				return db && up && web.SecretEnv["URL"] == "pg://"+password
			})
			if c := strings.Count(strings.Join(r.OperationLog(), ","), "create make"); c != 1 {
				t.Errorf("the plugin ran %d times", c)
			}
			p.want(s, goneGoal("d1"))
			p.untilPhase("d1", wire.PhaseRemoved)
			if !slices.Contains(r.OperationLog(), "delete make") || len(listObjects(t, r)) > 0 {
				t.Errorf("ran %v, left %v", r.OperationLog(), listObjects(t, r))
			}
		})
	}
}

// The journal is lost while a plugin runs that may not run twice. Whether the run continues to be
// wanted or not, it does not run again, and what it did is undone.
func TestAgent_UndoesWhatItForgot(t *testing.T) {
	begun := shopGoal("d1")
	begun.Begun = true
	for name, c := range map[string]struct {
		goal wire.Goal
		end  wire.Phase
	}{"wanted": {begun, wire.PhaseFailed}, "canceled": {goneGoal("d1"), wire.PhaseRemoved}} {
		t.Run(name, func(t *testing.T) {
			p := newPlane(t)
			dir := t.TempDir()
			r := dummy.New(dummy.Hooks{Plugin: func(ctx context.Context, s agent.PluginSpec,
				stdin []byte, line func(string)) agent.PluginResult {
				if s.Action == "create" {
					line("half done")
					<-ctx.Done()
				}
				return runMaker(ctx, s, stdin, line)
			}})
			n := p.boot(dir, r, nil)
			p.want(n.connect(), shopGoal("d1"))
			p.until("half of the plugin's work", func() bool {
				return len(p.lines) > 0 && slices.ContainsFunc(p.events, func(e wire.Event) bool {
					return e.Step == "make" && e.Status == pipeline.StepRunning
				})
			})
			n.stop()
			removeFiles(t, dir)
			p.want(nil, c.goal)
			n = p.boot(dir, r, nil)
			s := n.connect()
			p.untilPhase("d1", c.end)
			// promise: N-160
			checkOnce(t, r)
			if !slices.Contains(r.OperationLog(), "delete make") || len(listObjects(t, r)) > 0 {
				t.Errorf("ran %v, left %v", r.OperationLog(), listObjects(t, r))
			}
			if c.end == wire.PhaseFailed && !strings.Contains(p.story(), engine.CodeMemoryLost) {
				t.Errorf("the run's end has no reason: %s", p.story())
			}
			p.want(s, goneGoal("d1"))
			p.untilPhase("d1", wire.PhaseRemoved)
		})
	}
}

// An agent that was away resends what the control plane has lost.
func TestAgent_ResendsToARestoredControlPlane(t *testing.T) {
	p := newPlane(t)
	r := dummy.New(dummy.Hooks{Plugin: runMaker})
	n := p.boot(t.TempDir(), r, nil)
	s := n.connect()
	p.want(s, shopGoal("d1"))
	p.untilPhase("d1", wire.PhaseReady)
	_ = s.Close(wire.CodeGone, "restored from a backup")
	var lost []wire.Event
	p.update(func() {
		lost = slices.Clone(p.events[2:])
		p.events = p.events[:2]
		p.last = p.events[1].Seq
	})
	n.connect()
	p.until("the lost events", func() bool { return len(p.events) == len(lost)+2 })
	checkContiguous(t, p)
}

// fault: F30
func TestNew_RefusesASecondAgentOnTheFolder(t *testing.T) {
	p := newPlane(t)
	dir := t.TempDir()
	p.boot(dir, dummy.New(dummy.Hooks{}), nil)
	_, err := agent.New(agent.Config{Data: dir, Token: &p.token, Build: "dev"},
		dummy.New(dummy.Hooks{}))
	if !errors.Is(err, agent.ErrInUse) {
		t.Errorf("got %v", err)
	}
}

func TestAgent_RefusesARevokedTokenForEver(t *testing.T) {
	p := newPlane(t)
	dir := t.TempDir()
	n := p.boot(dir, dummy.New(dummy.Hooks{}), nil)
	s := n.connect()
	if err := s.Send(t.Context(), wire.RefuseToken{Kid: p.token.Kid}); err != nil {
		t.Fatal(err)
	}
	<-s.Done()
	if _, err := n.dial(t.Context()); !errors.Is(err, wire.ErrRefused) {
		t.Errorf("a revoked token got %v", err)
	}
	n.stop()
	n = p.boot(dir, dummy.New(dummy.Hooks{}), nil)
	if _, err := n.dial(t.Context()); !errors.Is(err, wire.ErrRefused) {
		t.Errorf("after a restart a revoked token got %v", err)
	}
}
