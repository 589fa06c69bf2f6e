package agent

import (
	"sync"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// board is where the goroutines of an agent tell each other what they know: the loop its views,
// operations their progress, measurements the services' health.
type board struct {
	// mu guards everything but published.
	mu       sync.Mutex
	views    map[string]view
	progress map[progressKey]*progressEntry
	health   map[progressKey]ProbeResult
	vitals   *wire.Vitals
	// measured is when vitals were, by the monotonic clock.
	measured time.Time
	// published wakes goroutines that wait for a changed view.
	published broadcast
}

func newBoard() *board {
	return &board{views: map[string]view{}, progress: map[progressKey]*progressEntry{},
		health: map[progressKey]ProbeResult{}}
}

// view is the part of a deployment's state that other goroutines than the loop may read. It
// is replaced, never modified.
type view struct {
	goal     *wire.Goal
	state    wire.DeploymentState
	bundle   *bundle
	restarts map[string]int
	steps    map[pipeline.StepKey]pipeline.StepStatus
	// still: see engine.Machine.
	still   int64
	stopped []pipeline.StepKey
	sealed  map[pipeline.StepKey][]byte
}

// waitsForTurn reports whether a step has not begun. A container that it has by then was started
// ahead: nothing of its image runs, and it is nobody's to use.
func (v view) waitsForTurn(key pipeline.StepKey) bool {
	switch v.steps[key] {
	case pipeline.StepPending, pipeline.StepPulling:
		return true
	}
	return false
}

// viewOf returns what is known of a deployment.
func (bd *board) viewOf(id string) (view, bool) {
	bd.mu.Lock()
	defer bd.mu.Unlock()
	v, ok := bd.views[id]
	return v, ok
}

func (bd *board) setBundle(id string, b *bundle) {
	bd.mu.Lock()
	defer bd.mu.Unlock()
	v := bd.views[id]
	v.bundle = b
	bd.views[id] = v
}

// imagesOfGoals are those of every deployment on this node, wanted or not yet
// gone.
func (bd *board) imagesOfGoals() (all []pipeline.Image) {
	bd.mu.Lock()
	defer bd.mu.Unlock()
	for _, v := range bd.views {
		if v.goal == nil {
			continue
		}
		for _, s := range v.goal.Pipeline.Steps {
			if image := imageOf(s); image != nil {
				all = append(all, *image)
			}
		}
	}
	return all
}

// readyServices are the ones that should be up, and which of them may end.
func (bd *board) readyServices() (services []ServiceSpec, mayEnd map[progressKey]bool) {
	bd.mu.Lock()
	defer bd.mu.Unlock()
	mayEnd = map[progressKey]bool{}
	for _, id := range sortedKeys(bd.views) {
		v := bd.views[id]
		if v.goal == nil || v.state.Phase != wire.PhaseReady {
			continue
		}
		for _, s := range v.goal.Pipeline.Steps {
			if s.Service != nil {
				services = append(services, minimalServiceSpec(v.goal, s.Key))
				never := s.Service.Restart == pipeline.RestartNever
				mayEnd[progressKey{v.goal.Deployment, s.Key}] = never
			}
		}
	}
	return services, mayEnd
}

// updateProgress changes the progress of a running step, which the next tick sends.
func (bd *board) updateProgress(g *wire.Goal, step pipeline.StepKey, edit func(*wire.Progress)) {
	bd.mu.Lock()
	defer bd.mu.Unlock()
	key := progressKey{g.Deployment, step}
	p := bd.progress[key]
	if p == nil || p.Run != g.Run {
		p = &progressEntry{Progress: wire.Progress{Deployment: g.Deployment, Run: g.Run, Step: step}}
		bd.progress[key] = p
	}
	edit(&p.Progress)
	p.news = true
}

type progressKey struct {
	owner string
	step  pipeline.StepKey
}

// progressEntry is the progress of a running step, and whether it changed since it was last
// sent.
type progressEntry struct {
	wire.Progress
	news bool
}

// broadcast wakes all goroutines that wait on it. The zero value is ready to use.
type broadcast struct {
	mu sync.Mutex
	ch chan struct{}
}

// nextSignal returns a channel that is closed by the next notifyAll.
func (b *broadcast) nextSignal() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch == nil {
		b.ch = make(chan struct{})
	}
	return b.ch
}

func (b *broadcast) notifyAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch != nil {
		close(b.ch)
		b.ch = nil
	}
}
