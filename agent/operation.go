package agent

import (
	"context"
	"errors"
	"time"

	"github.com/nullops/nullops/agent/engine"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/internal/text"
	"github.com/nullops/nullops/internal/tracing"
	"github.com/nullops/nullops/pipeline"
)

// operation is one Do on its way: what it needs is fixed when it starts.
type operation struct {
	base   *base
	do     engine.StartOperation
	goal   *wire.Goal
	bundle *bundle
	// held is set when the operation maintains or removes a deployment whose images are already
	// here: no registry is asked about them, and no progress is reported.
	held bool
	// why is set when a service's container is removed because the service exited or did not
	// become ready: it is the reason to log.
	why string
}

// operationResult is the result of an operation, before secrets are masked in it.
type operationResult struct {
	result  engine.Result
	outputs map[string]any
	// ran distinguishes empty outputs from a step without outputs.
	ran bool
}

// startOperation runs an operation on its own goroutine. It always posts exactly one Ended,
// unless the agent ends first. An operation that is already cancelled does nothing else.
func (lp *loop) startOperation(
	ctx context.Context,
	d *deployment,
	do engine.StartOperation,
	canceled bool,
) {
	ctx, cancel := context.WithCancel(ctx)
	if canceled {
		cancel()
	}
	d.cancel[do.Op] = cancel
	v, _ := lp.viewOf(d.id)
	o := operation{base: lp.base, do: do, goal: d.m.CurrentGoal(), bundle: v.bundle,
		held: d.m.State().Phase != wire.PhaseApplying}
	if do.Kind == engine.Remove && d.unready.step == do.Step {
		o.why, d.unready = d.unready.message, startupFailure{}
	}
	if o.bundle == nil {
		o.bundle = newBundle(d.id, o.goal, wire.Secrets{}, nil)
	}
	steady := d.m.State().Phase == wire.PhaseReady
	lp.ops.Go(func() {
		defer cancel()
		f := o.runTraced(ctx, steady)
		lp.inbox.addTask(func(now time.Time) {
			delete(d.cancel, do.Op)
			lp.stepMachine(now, d, engine.OperationEnded{Op: do.Op, Result: lp.maskAndSeal(d, o, f)})
		})
	})
}

// runTraced runs an operation as a span of its run's trace, below its step. What is done again and
// again for a deployment that is ready, such as probes, belongs to no trace: it would never end.
func (o operation) runTraced(ctx context.Context, steady bool) operationResult {
	if o.goal.Trace == "" || steady {
		return o.runWithFailpoints(ctx)
	}
	ctx = tracing.WithStep(ctx, o.goal.Trace, o.goal.Run, string(o.do.Step))
	ctx, end := tracing.Span(ctx, "agent "+string(o.do.Kind),
		"deployment_id", o.goal.Deployment, "run_id", o.goal.Run, "step", string(o.do.Step))
	f := o.runWithFailpoints(ctx)
	if f.result.Outcome == engine.OutcomeOK {
		end(nil)
	} else {
		end(errNotOK)
	}
	return f
}

// errNotOK marks a span as failed. Why is in the step's result.
var errNotOK = errors.New("the operation did not succeed")

func (o operation) runWithFailpoints(ctx context.Context) operationResult {
	if err := ctx.Err(); err != nil {
		return operationResult{result: o.classifyErr(ctx, err, engine.CodeCanceled)}
	}
	name := failpointName(o.do.Kind)
	if err := o.base.config.Failpoint.Hit(name + ".before"); err != nil {
		return operationResult{result: o.classifyErr(ctx, err, "failpoint")}
	}
	f := o.callRuntime(ctx)
	if err := o.base.config.Failpoint.Hit(name + ".after"); err != nil {
		return operationResult{result: o.classifyErr(ctx, err, "failpoint")}
	}
	return f
}

// failpointName is the base name of an operation's failpoints.
func failpointName(k engine.Kind) string {
	if k == engine.EvaluatePrompt || k == engine.EvaluateAnswer {
		return "approval." + string(k)
	}
	return "runtime." + string(k)
}

func (o operation) callRuntime(ctx context.Context) operationResult {
	switch o.do.Kind {
	case engine.Prepare:
		return o.resultOf(ctx, o.prepareDeployment(ctx), "prepare")
	case engine.Pull:
		return o.pullImage(ctx)
	case engine.Start:
		return o.startService(ctx)
	case engine.Probe:
		return o.probeService(ctx)
	case engine.Precreate:
		return o.resultOf(ctx, o.createAhead(ctx), "create")
	case engine.Run:
		if step, _ := o.goal.Pipeline.Step(o.do.Step); step.Script != nil {
			return o.runScript(ctx, step.Script)
		}
		return o.runPlugin(ctx)
	case engine.Stop:
		return o.stopService(ctx)
	case engine.Remove:
		return o.removeContainers(ctx)
	case engine.RemoveAll:
		return o.removeAll(ctx)
	case engine.EvaluatePrompt:
		return o.evalPrompt()
	case engine.EvaluateAnswer:
		return o.completeApproval()
	}
	return operationResult{result: engine.Result{Outcome: engine.OutcomeNo, Code: "internal",
		Message: "unknown operation " + string(o.do.Kind)}}
}

func (o operation) prepareDeployment(ctx context.Context) error {
	prepare := o.base.runtime.Prepare
	if catcher, can := o.base.runtime.(MailCatcher); can && o.base.config.Mails.Mail > 0 &&
		!namesMail(o.goal) {
		prepare = catcher.PrepareWithMail
	}
	err := prepare(ctx, o.goal.Deployment)
	limiter, ok := o.base.runtime.(DeploymentLimiter)
	if err != nil || !ok {
		return err
	}
	containers := 0
	for _, s := range o.goal.Pipeline.Steps {
		if s.Container() != nil {
			containers++
		}
	}
	return limiter.LimitDeployment(ctx, o.goal.Deployment, o.goal.Limits, containers)
}

func (o operation) resultOf(ctx context.Context, err error, code string) operationResult {
	return operationResult{result: o.classifyErr(ctx, err, code)}
}

// classifyErr distinguishes a refusal of the engine (No) from an engine that could not be
// asked (Unknown).
func (o operation) classifyErr(ctx context.Context, err error, code string) engine.Result {
	switch {
	case err == nil:
		return engine.Result{Outcome: engine.OutcomeOK}
	case ctx.Err() != nil:
		return engine.Result{
			Outcome: engine.OutcomeUnknown,
			Code:    engine.CodeCanceled,
			Message: "canceled",
		}
	case errors.Is(err, ErrUnavailable):
		return engine.Result{Outcome: engine.OutcomeUnknown, Code: "unavailable", Message: err.Error()}
	}
	if start, ok := errors.AsType[*StartError](err); ok {
		return engine.Result{Outcome: engine.OutcomeNo, Code: code, Message: start.Error()}
	}
	return engine.Result{Outcome: engine.OutcomeNo, Code: code, Message: err.Error()}
}

func (o operation) pullImage(ctx context.Context) operationResult {
	step, _ := o.goal.Pipeline.Step(o.do.Step)
	image := imageOf(step)
	if image == nil {
		return o.resultOf(ctx, errors.New("the step has no image"), CodeImagePull)
	}
	if err := o.base.images.recordUse(*image, time.Now()); err != nil {
		// Without the note it is never collected; that is no reason not to run.
		o.base.log.Warn("an image was not noted", "error", err)
	}
	var auth *wire.RegistryAuth
	if known, ok := o.bundle.auths[image.Registry]; ok {
		auth = &known
	}
	here, err := o.mayUseLocal(ctx, *image, auth)
	if here || err != nil {
		return o.resultOf(ctx, err, CodeImagePull)
	}
	err = o.base.pulls.pullShared(ctx, o.base.runtime, *image, auth, func(p PullProgress) {
		o.base.updateProgress(o.goal, o.do.Step, func(g *wire.Progress) {
			g.PulledBytes, g.TotalBytes = p.Done, p.Total
			g.PulledLayers, g.TotalLayers = p.LayersDone, p.Layers
		})
	})
	if err == nil {
		o.base.pulls.recordAccess(o.goal.Deployment, o.goal.Run, keyOf(*image, auth))
	}
	return o.resultOf(ctx, err, CodeImagePull)
}

// mayUseLocal reports whether the image is on the node and this run, or the run that
// created this deployment, has been granted access to it. Then a service can be restarted
// while the registry is down.
func (o operation) mayUseLocal(
	ctx context.Context, image pipeline.Image, auth *wire.RegistryAuth,
) (bool, error) {
	proven := o.base.pulls.hasAccess(o.goal.Deployment, o.goal.Run, keyOf(image, auth))
	if image.Digest == "" || !o.held && !proven {
		return false, nil
	}
	return o.base.runtime.HasImage(ctx, image)
}

func imageOf(s pipeline.Step) *pipeline.Image {
	switch {
	case s.Container() != nil:
		return s.Container().Image
	case s.Plugin != nil:
		return s.Plugin.Image
	}
	return nil
}

// hasPulledAgain reports whether an error was about an image that somebody has removed, and which
// is here again. Images are pulled once in a run, and its undo may come days later.
func (o operation) hasPulledAgain(ctx context.Context, err error) bool {
	return errors.Is(err, ErrNoImage) && o.pullImage(ctx).result.Outcome == engine.OutcomeOK
}

func (o operation) startService(ctx context.Context) operationResult {
	spec, err := serviceSpec(o.goal, o.bundle, o.do.Step)
	if err != nil {
		return o.resultOf(ctx, err, CodeUnresolved)
	}
	err = o.base.runtime.StartService(ctx, spec)
	if o.hasPulledAgain(ctx, err) {
		err = o.base.runtime.StartService(ctx, spec)
	}
	return o.resultOf(ctx, err, "start")
}

// createAhead prepares the container of a step before its turn.
func (o operation) createAhead(ctx context.Context) error {
	step, _ := o.goal.Pipeline.Step(o.do.Step)
	if step.Container() == nil {
		return o.base.runtime.CreatePlugin(ctx, pluginSpec(o.goal, o.do.Step, o.do.Action))
	}
	preparer, ok := o.base.runtime.(ServicePreparer)
	if !ok {
		return errors.New("this runtime starts no service before its turn")
	}
	spec, err := earlyServiceSpec(o.goal, o.bundle, o.do.Step)
	if err != nil {
		return err
	}
	return preparer.CreateService(ctx, spec)
}

func (o operation) probeService(ctx context.Context) operationResult {
	spec := minimalServiceSpec(o.goal, o.do.Step)
	spec.Starting = o.do.Starting
	p, err := o.base.runtime.Probe(ctx, spec)
	if err != nil {
		r := o.classifyErr(ctx, err, "probe")
		if r.Outcome == engine.OutcomeNo && !spec.Once {
			// The probe itself failed; that is a check that was not passed.
			r = engine.Result{Outcome: engine.OutcomeOK, Health: wire.HealthUnhealthy, Message: err.Error()}
		}
		return operationResult{result: r}
	}
	if !o.held {
		// The service could be asked, whatever it answered: a slow service is not a stuck one.
		o.base.updateProgress(o.goal, o.do.Step, func(*wire.Progress) {})
	}
	if o.do.Last && !p.Ended && p.Health != wire.HealthHealthy {
		p.Detail = o.explainUnready(ctx, p.Detail)
	}
	r := engine.Result{Outcome: engine.OutcomeOK, Health: p.Health, Message: p.Detail,
		StartedAt: p.StartedAt}
	if p.Ended {
		r.Exited, r.ExitCode, r.Code = true, &p.ExitCode, engine.CodeServiceExited
		r.Message = exitSentence("the service", p.ExitCode, p.OOM, spec.Resources)
		if spec.Once {
			r.Code = engine.CodeExitCode
			r.Message = exitSentence("the job", p.ExitCode, p.OOM, spec.Resources)
		}
		switch {
		case p.OOM:
			r.Code = CodeOOM
		case p.Cluster != "":
			r.Message = p.Cluster
		case p.ExitCode == exitSIGKILL:
			r.Code = CodeKilledByStranger
		}
		// What was killed for its memory does not know why it ended.
		if !p.OOM && (!spec.Once || p.ExitCode != 0) {
			r.Message += o.quoteLog(ctx)
		}
		if o.held {
			// During a start-up the service may be started again; if it is not, its log is captured
			// when its container is removed.
			o.captureLogTail(ctx, r.Message)
		}
	}
	if p.Ended && spec.Once {
		return o.addTests(ctx, r)
	}
	return operationResult{result: r}
}

func (o operation) runPlugin(ctx context.Context) operationResult {
	input, err := pluginInput(o.goal, o.bundle, o.do.Step, o.do.Action, o.do.Attempt)
	if err != nil {
		f := o.resultOf(ctx, err, CodeUnresolved)
		f.result.Harmless = true
		return f
	}
	spec := pluginSpec(o.goal, o.do.Step, o.do.Action)
	lines := o.base.newLineWriter(o)
	spec.Pieces = lines
	result, err := o.base.runtime.RunPlugin(ctx, spec, input, lines.writeText)
	if o.hasPulledAgain(ctx, err) {
		result, err = o.base.runtime.RunPlugin(ctx, spec, input, lines.writeText)
	}
	lines.flushPartial()
	lines.reportMissedLines(result.Dropped)
	if err != nil {
		// Whatever the reason, it may have run.
		r := o.classifyErr(ctx, err, engine.CodeUnknownOutcome)
		r.Outcome = engine.OutcomeUnknown
		return operationResult{result: r}
	}
	lines.writeReason(result)
	step, _ := o.goal.Pipeline.Step(o.do.Step)
	return validateOutputs(evaluateResult(spec, result, lines.last), o.do.Action,
		step.Plugin.Component, pluginMismatch)
}

func (o operation) stopService(ctx context.Context) operationResult {
	ran, err := o.base.runtime.StopService(ctx, o.goal.Deployment, o.do.Step)
	f := o.resultOf(ctx, err, "stop")
	f.result.Exited = !ran
	if step, _ := o.goal.Pipeline.Step(o.do.Step); step.Job != nil && err == nil && !o.held {
		// It took too long. Its test results are not read, so they stay unknown; what it said last
		// ends the sentence that says so.
		f.result.Message = o.quoteLog(ctx)
		f.result.Tests = o.addTests(ctx, f.result).result.Tests
	}
	return f
}

// removeContainers takes away the containers of one step, found by their labels.
func (o operation) removeContainers(ctx context.Context) operationResult {
	if o.why != "" {
		o.captureLogTail(ctx, o.why)
	} else {
		o.archiveLog(ctx)
	}
	objects, err := o.base.runtime.List(ctx)
	if err != nil {
		// Not knowing what is there is no reason to think that nothing is.
		r := o.classifyErr(ctx, err, "list")
		r.Outcome = engine.OutcomeUnknown
		return operationResult{result: r}
	}
	var failed error
	for _, object := range objects {
		mine := object.Deployment == o.goal.Deployment && object.Step == o.do.Step
		if object.Waiting && o.do.Keep {
			// Nothing of it ran. Its step's delete is about to use it.
			continue
		}
		if mine && (object.Kind == KindService || object.Kind == KindPlugin) {
			failed = errors.Join(failed, o.base.runtime.Remove(ctx, object))
		}
	}
	return o.resultOf(ctx, failed, "remove")
}

func (o operation) removeAll(ctx context.Context) operationResult {
	left, err := o.base.runtime.RemoveDeployment(ctx, o.goal.Deployment)
	f := o.resultOf(ctx, err, "remove")
	for _, object := range left {
		f.result.Left = append(f.result.Left, string(object.Kind)+" "+object.Name)
	}
	return f
}

// maskAndSeal masks what people will read, and seals outputs. It runs in the loop, so that
// the outputs of two steps are added to the bundle one after the other.
func (lp *loop) maskAndSeal(d *deployment, o operation, f operationResult) engine.Result {
	v, _ := lp.viewOf(d.id)
	b := v.bundle
	if b == nil {
		b = o.bundle
	}
	r := f.result
	if f.ran && (o.do.Action == "create" || o.do.Kind == engine.EvaluateAnswer) {
		step, _ := o.goal.Pipeline.Step(o.do.Step)
		next, out := b.withOutputs(o.do.Step, f.outputs, step.Declares())
		b = next
		if v.bundle != nil {
			lp.setBundle(d.id, b)
		}
		sealed, err := b.sealOutputs(o.do.Step, out)
		if err != nil {
			lp.log.Error("outputs cannot be sealed", "step", o.do.Step, "error", err)
		}
		r.Outputs, r.Sealed = b.maskOutputs(out), sealed
	}
	if o.do.Kind == engine.Probe {
		r.Message = maskProbeOutput(b.masker, r.Message)
	}
	r.Message = b.masker.Mask(r.Message)
	if r.Outcome == engine.OutcomeNo || o.do.Kind == engine.Stop {
		// It was cut far behind this, so that no part of a secret is left over.
		r.Message = text.CleanLine(r.Message, maxReason)
	}
	r.Metadata = b.maskMetadata(r.Metadata)
	for i := range r.Left {
		r.Left[i] = b.masker.Mask(r.Left[i])
	}
	return r
}
