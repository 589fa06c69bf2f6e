package engine

import (
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// maxParts bounds the parts that wait for the next event of a step: one that is tried again for
// hours must not fill it.
const maxParts = 30

// timings records how steps spend their time, for people: nothing is decided by it. What was not
// reported is lost in a crash.
type timings struct {
	open  map[int64]openPart
	ended map[pipeline.StepKey][]wire.StepPart
}

// openPart is an operation that has not ended.
type openPart struct {
	step pipeline.StepKey
	kind wire.PartKind
	from time.Time
}

func (t *timings) reset() {
	t.open, t.ended = map[int64]openPart{}, map[pipeline.StepKey][]wire.StepPart{}
}

// begin notes the start of an operation that people wait for.
func (t *timings) begin(d StartOperation, phase wire.Phase, now time.Time) {
	undoing := phase == wire.PhaseUndoing || phase == wire.PhaseRemoving
	if phase != wire.PhaseApplying && !undoing {
		// Keeping a ready deployment as it is takes no time of the run.
		return
	}
	kinds := map[Kind]wire.PartKind{Pull: wire.PartPull, Precreate: wire.PartSandbox,
		Start: wire.PartStart, Run: wire.PartRun}
	if undoing {
		kinds = map[Kind]wire.PartKind{Pull: wire.PartUndo, Remove: wire.PartUndo, Run: wire.PartUndo}
	}
	kind, shown := kinds[d.Kind]
	if !shown || d.Step == "" {
		return
	}
	t.open[d.Op] = openPart{step: d.Step, kind: kind, from: now}
}

func (t *timings) end(e OperationEnded, now time.Time) {
	o, known := t.open[e.Op]
	if !known {
		return
	}
	delete(t.open, e.Op)
	t.add(o.step, wire.StepPart{Kind: o.kind, From: o.from, To: now,
		Failed: e.Result.Outcome != OutcomeOK})
}

func (t *timings) add(key pipeline.StepKey, p wire.StepPart) {
	if len(t.ended[key]) < maxParts {
		t.ended[key] = append(t.ended[key], p)
	}
}

// take returns the parts of a step that were not reported yet. Between the starts of a container,
// and from its last start to the end of the step, the step waited for it.
func (t *timings) take(key pipeline.StepKey, waits wire.PartKind, ended bool,
	now time.Time) []wire.StepPart {
	parts := t.ended[key]
	delete(t.ended, key)
	var all []wire.StepPart
	var started time.Time
	for _, p := range parts {
		if p.Kind == wire.PartStart {
			if !started.IsZero() && p.From.After(started) {
				all = append(all, wire.StepPart{Kind: waits, From: started, To: p.From, Failed: true})
			}
			started = time.Time{}
			if !p.Failed {
				started = p.To
			}
		}
		all = append(all, p)
	}
	if ended && !started.IsZero() {
		all = append(all, wire.StepPart{Kind: waits, From: started, To: now})
	}
	return all
}

// takeParts adds to an event of a step how the step has spent its time since the event before.
func (c *core) takeParts(e *wire.Event) {
	waits := wire.PartReady
	if c.isJob(e.Step) {
		waits = wire.PartRun
	}
	ended := e.Status == pipeline.StepDone || e.Status == pipeline.StepFailed
	e.Parts = c.timings.take(e.Step, waits, ended, c.now)
	if n := len(e.Parts); e.Status == pipeline.StepFailed && n > 0 && e.Parts[n-1].Kind == waits {
		e.Parts[n-1].Failed = true
	}
}
