package engine

import (
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// applier brings a run forward: one step at a time, in order.
type applier struct {
	*run
	secrets   *secrets
	approvals approvals
	jobs      jobs
	starts    serviceStarts
	plugins   *plugins
	crashes   *crashes
}

// advanceRun advances a run: one step at a time, in order.
func (a *applier) advanceRun() {
	if a.approvals.failUnapproved() || !a.prepareRun() {
		return
	}
	if a.work.Still {
		a.pulls.startPulls()
		a.failUnpulled()
		return
	}
	key, left := a.nextStep()
	if !left {
		if a.current != nil || a.isBackingOff() || a.crashes.handleCrashed() {
			return
		}
		a.fresh = a.now
		a.moveTo(wire.PhaseReady, wire.Event{})
		return
	}
	a.pulls.startPulls()
	a.plugins.sandboxes.prepareForRun(key)
	if a.current != nil || a.isBackingOff() || a.crashes.handleCrashed() {
		return
	}
	if a.prober.startup != nil {
		a.prober.continueProbing()
		return
	}
	a.advanceStep(key)
}

// failUnpulled ends a run whose images are not all there, before another deployment is stopped
// for the volumes that this one waits for.
func (a *applier) failUnpulled() {
	if a.work.Elsewhere {
		return
	}
	for _, key := range a.order {
		if p := a.pulls.byStep[key]; p != nil && p.failed != nil {
			a.failStep(key, *p.failed)
			return
		}
	}
}

// prepareRun reports whether steps can run: secrets are here, the network is made.
func (a *applier) prepareRun() bool {
	if a.secrets.state == secretsRefused {
		a.giveUp(CodeSecretsRefused, "the control plane refused the secrets: "+a.secrets.refusal)
		return false
	}
	if !a.secrets.requireSecrets() {
		return false
	}
	if a.prepared {
		return true
	}
	if a.current == nil && !a.isBackingOff() {
		a.current = a.startOperation(StartOperation{Kind: Prepare})
	}
	// Registries are asked meanwhile.
	a.pulls.startPulls()
	return false
}

// advanceStep does the next thing for the step whose turn it is.
func (a *applier) advanceStep(key pipeline.StepKey) {
	s := a.steps[key]
	p := a.pulls.byStep[key]
	switch {
	case a.pipelineStep(key).Approval != nil:
		a.approvals.advanceApproval(key)
	case a.pipelineStep(key).Script != nil:
		a.plugins.runPlugin(key)
	case a.isLaunched(key):
		// A restarted agent needs no image to wait for the job's end.
		a.prober.startProbing(key)
		a.prober.continueProbing()
	case p != nil && p.failed != nil:
		a.failStep(key, *p.failed)
	case p == nil || !p.done:
		if s.Status == pipeline.StepPending {
			a.changeStep(key, wire.Event{}, func(s *StepState) { s.Status = pipeline.StepPulling })
		}
	case a.plugins.sandboxes.isPreparing(key):
	case a.pipelineStep(key).Container() != nil:
		a.starts.startService(key)
	default:
		a.plugins.runPlugin(key)
	}
}

// onApplyStepEnded handles the end of an operation while a run is being applied.
func (a *applier) onApplyStepEnded(o operation, r Result) {
	key := o.do.Step
	if s := a.steps[key]; s != nil && s.Done {
		a.crashes.onCrashHandled(o, r)
		return
	}
	switch o.do.Kind {
	case Start:
		a.onContainerStarted(key, r)
	case Probe:
		a.onContainerProbed(key, r)
	case Stop:
		a.jobs.onJobStopped(o, r)
	case Remove:
		// The old container of a plugin that is going to be repeated.
		if r.Outcome == OutcomeOK {
			a.killed = key
			a.resetRetries()
			return
		}
		a.retryLater()
	case Run:
		a.plugins.onPluginEnded(key, r)
	case EvaluatePrompt:
		a.approvals.onPromptEvaluated(key, r)
	case EvaluateAnswer:
		a.approvals.onApprovalCompleted(key, r)
	default:
	}
}

func (a *applier) onContainerStarted(key pipeline.StepKey, r Result) {
	if a.isJob(key) {
		a.jobs.onJobStarted(key, r)
		return
	}
	a.starts.onServiceStarted(key, r)
}

func (a *applier) onContainerProbed(key pipeline.StepKey, r Result) {
	if a.isJob(key) {
		a.jobs.onJobProbed(key, r)
		return
	}
	a.starts.onStartupProbed(key, r)
}
