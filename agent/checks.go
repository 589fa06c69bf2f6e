package agent

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/nullops/nullops/agent/engine"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/internal/mask"
	"github.com/nullops/nullops/internal/text"
	"github.com/nullops/nullops/pipeline"
)

const (
	// checkLines and checkBytes bound what is kept of one check's log: with the
	// most steps there can be, all logs together fit into one answer.
	checkLines = 20
	checkBytes = 2 << 10
	// checkMessage bounds its sentence.
	checkMessage = 1 << 10
)

const actionCheck = "check"

// checks tracks the deployments that are being checked, or were checked recently. While a
// check runs, its plugin containers must not be taken for leftovers of a run.
type checks struct {
	mu sync.Mutex
	// ended is zero while a check runs.
	ended map[string]time.Time
}

// tryStart reports false if a check of the deployment is already running.
func (c *checks) tryStart(deployment string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, known := c.ended[deployment]; known && at.IsZero() {
		return false
	}
	c.ended[deployment] = time.Time{}
	return true
}

func (c *checks) markEnded(deployment string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended[deployment] = time.Now()
}

func (c *checks) forgetDeployment(deployment string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ended[deployment].IsZero() {
		delete(c.ended, deployment)
	}
}

// mayOverlap reports whether a listing that began at the given time may show containers of
// a check.
func (c *checks) mayOverlap(deployment string, began time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, known := c.ended[deployment]
	return known && (at.IsZero() || !began.After(at))
}

// serveChecks runs the check action of a ready deployment's plugins, to see whether what
// they created still exists. The request waits for the results; closing it cancels the
// checks.
func (ds *deploymentServer) serveChecks(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	v, ok := ds.viewOf(id)
	switch {
	case !ok || v.goal == nil:
		http.Error(w, "no such deployment on this node", http.StatusNotFound)
		return
	case v.state.Phase != wire.PhaseReady:
		http.Error(w, "the deployment is not ready", http.StatusConflict)
		return
	case v.bundle == nil:
		http.Error(w, "the agent waits for the deployment's secrets; try again in a moment",
			http.StatusServiceUnavailable)
		return
	}
	if !ds.checks.tryStart(id) {
		http.Error(w, "somebody checks the deployment already", http.StatusConflict)
		return
	}
	defer ds.checks.markEnded(id)
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(ds.checkSteps(r.Context(), v)); err != nil {
		ds.log.Debug("checks were not told", "deployment_id", id, "error", err)
	}
}

// checkSteps calls one plugin after the other, in the order of the steps.
func (ds *deploymentServer) checkSteps(ctx context.Context, v view) wire.StepChecks {
	all := wire.StepChecks{Steps: []wire.StepCheck{}}
	for _, key := range v.goal.Pipeline.Order {
		step, _ := v.goal.Pipeline.Step(key)
		if ctx.Err() == nil && hasCheckAction(step) {
			all.Steps = append(all.Steps, ds.checkStep(ctx, v, key))
		}
	}
	return all
}

func hasCheckAction(s pipeline.Step) bool {
	return s.Plugin != nil && s.Plugin.Component != nil &&
		slices.Contains(s.Plugin.Component.Actions, actionCheck)
}

func (ds *deploymentServer) checkStep(
	ctx context.Context, v view, key pipeline.StepKey,
) wire.StepCheck {
	o := operation{base: ds.base, goal: v.goal, bundle: v.bundle, held: true,
		do: engine.StartOperation{Kind: engine.Run, Step: key, Action: actionCheck, Attempt: 1}}
	began := time.Now()
	said := &logTail{stream: v.bundle.masker.NewStream()}
	f := o.pullImage(ctx)
	if f.result.Outcome == engine.OutcomeOK {
		f = o.checkPlugin(ctx, said)
	}
	message := v.bundle.masker.Mask(f.result.Message)
	return wire.StepCheck{Step: key, OK: f.result.Outcome == engine.OutcomeOK, Code: f.result.Code,
		Message: text.Clip(message, checkMessage), Millis: time.Since(began).Milliseconds(),
		Log: said.finishLines()}
}

func (o operation) checkPlugin(ctx context.Context, said *logTail) operationResult {
	input, err := pluginInput(o.goal, o.bundle, o.do.Step, actionCheck, 1)
	if err != nil {
		return o.resultOf(ctx, err, CodeUnresolved)
	}
	spec := pluginSpec(o.goal, o.do.Step, actionCheck)
	spec.Pieces = said
	result, err := o.base.runtime.RunPlugin(ctx, spec, input, said.writeText)
	if err != nil {
		return operationResult{result: o.classifyErr(ctx, err, engine.CodeUnknownOutcome)}
	}
	return evaluateResult(spec, result, said.lines)
}

// logTail keeps the last lines that a check wrote, with secrets hidden.
type logTail struct {
	stream *mask.Stream
	lines  []string
	bytes  int
}

// writeText takes a line, or the rest of one.
func (t *logTail) writeText(text string) { t.appendLine(t.stream.Write(text) + t.stream.Flush()) }

// TakePiece implements PieceTaker.
func (t *logTail) TakePiece(text string) {
	if shown := t.stream.Write(text); shown != "" {
		t.appendLine(shown)
	}
}

func (t *logTail) appendLine(shown string) {
	shown = text.Clip(shown, checkBytes/2)
	t.lines = append(t.lines, shown)
	t.bytes += len(shown)
	for len(t.lines) > checkLines || t.bytes > checkBytes {
		t.bytes -= len(t.lines[0])
		t.lines = t.lines[1:]
	}
}

func (t *logTail) finishLines() []string {
	if rest := t.stream.FlushTruncated(); rest != "" {
		t.appendLine(rest)
	}
	return t.lines
}
