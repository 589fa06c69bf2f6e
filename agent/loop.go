package agent

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/nullops/nullops/agent/engine"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/internal/wait"
	"github.com/nullops/nullops/pipeline"
)

// pendingEffect is an effect that waits for the journal.
type pendingEffect struct {
	d      *deployment
	effect engine.Effect
}

// retryDisk is how long the loop waits when the journal cannot be written.
const retryDisk = time.Second

// runLoop is the one goroutine that passes events to machines. It takes all queued tasks,
// journals their records with one sync, and only then performs the effects.
func (a *Agent) runLoop(ctx context.Context) error {
	for _, id := range sortedKeys(a.machines) {
		a.stepMachine(time.Now(), a.machines[id], engine.AgentRestarted{})
	}
	for {
		if err := a.commitBatch(ctx); err != nil {
			return err
		}
		timer := time.NewTimer(a.timeToWake(time.Now()))
		select {
		case <-a.inbox.wake:
		case <-timer.C:
			a.wakeDueMachines(time.Now())
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
		timer.Stop()
		for _, task := range a.inbox.takeAll() {
			task(time.Now())
		}
	}
}

// stepMachine passes an event to a machine and collects the resulting records, reports and
// effects.
func (a *Agent) stepMachine(now time.Time, d *deployment, ev engine.Event) {
	e := entry{Deployment: d.id}
	for _, effect := range d.m.Step(now, ev) {
		switch effect := effect.(type) {
		case engine.Record:
			e.Records = append(e.Records, effect)
		case engine.Report:
			e.Events = append(e.Events, effect.Event)
			if failsStartup(d.m.CurrentGoal(), effect.Event) {
				d.unready = startupFailure{effect.Event.Step, effect.Event.Message}
			}
		case engine.Forget:
			e.Forget = true
			a.todo = append(a.todo, pendingEffect{d, effect})
		default:
			a.todo = append(a.todo, pendingEffect{d, effect})
		}
	}
	if len(e.Records) > 0 || len(e.Events) > 0 || e.Forget {
		a.batch = append(a.batch, e)
	}
}

// failsStartup reports whether a service's step failed because the service did
// not become ready or ended, or a job's because it failed: its last lines say why.
func failsStartup(g *wire.Goal, e wire.Event) bool {
	switch e.Code {
	case engine.CodeNotReady, engine.CodeServiceExited, CodeOOM, CodeKilledByStranger, CodeExitCode,
		CodeTimeout:
	default:
		return false
	}
	if g == nil || e.Step == "" {
		return false
	}
	step, ok := g.Pipeline.Step(e.Step)
	return ok && step.Container() != nil
}

// commitBatch writes the batch to the journal, retrying while the disk refuses, and then
// performs its effects. Sessions run on other goroutines and stay connected meanwhile.
func (a *Agent) commitBatch(ctx context.Context) error {
	for failed := false; len(a.batch) > 0; failed = true {
		err := a.saveBatch()
		if err == nil {
			break
		}
		if errors.Is(err, ErrDiskHangs) {
			return err
		}
		if !failed {
			a.log.Error("the journal cannot be written: nothing new begins until it can",
				"error", err)
		}
		if err := wait.Sleep(ctx, retryDisk); err != nil {
			return err
		}
	}
	a.batch = nil
	todo := a.todo
	a.todo = nil
	for i, p := range todo {
		if do, ok := p.effect.(engine.StartOperation); ok {
			a.startOperation(ctx, p.d, do, isCanceled(todo[i+1:], p.d, do.Op))
			continue
		}
		a.performEffect(ctx, p.d, p.effect)
	}
	a.publishViews()
	return nil
}

// isCanceled reports whether a later effect of the same batch cancels the operation. Then
// it must not start: the journal may already say that no step begins.
func isCanceled(todo []pendingEffect, d *deployment, op int64) bool {
	return slices.ContainsFunc(todo, func(p pendingEffect) bool {
		c, ok := p.effect.(engine.CancelOperation)
		return ok && p.d == d && c.Op == op
	})
}

func (a *Agent) saveBatch() error {
	// A disk that returns errors is retried. One that does not even return will not recover
	// within this process.
	watch := time.AfterFunc(a.config.DiskPatience, func() { close(a.hangs) })
	a.disk.beginWrite(time.Now())
	err := a.writeBatch()
	a.disk.endWrite(time.Now(), err)
	if !watch.Stop() {
		return ErrDiskHangs
	}
	return err
}

func (a *Agent) writeBatch() error {
	_, last, _ := a.store.seqNumbers()
	for _, e := range a.batch {
		last += int64(len(e.Events))
	}
	if err := a.state.reserveSeqs(last); err != nil {
		return err
	}
	if err := a.store.saveEntries(a.batch); err != nil {
		return err
	}
	if slices.ContainsFunc(a.batch, func(e entry) bool { return len(e.Records) > 0 }) {
		a.config.Failpoint.Pass("journal.decided")
	}
	a.report.notifyAll()
	machines := map[string]*engine.Machine{}
	for id, d := range a.machines {
		machines[id] = d.m
	}
	if err := a.store.compactIfLarge(time.Now(), machines); err != nil {
		// The longer file is as good.
		a.log.Warn("the journal cannot be compacted", "error", err)
	}
	return nil
}

// performEffect does what a machine asked for, other than operations.
func (a *Agent) performEffect(ctx context.Context, d *deployment, effect engine.Effect) {
	switch e := effect.(type) {
	case engine.CancelOperation:
		if cancel := d.cancel[e.Op]; cancel != nil {
			cancel()
		}
	case engine.WantSecrets:
		a.setWanted(d.id, wire.SecretsWanted{Deployment: d.id, Generation: e.Generation, Run: e.Run})
	case engine.DropSecrets:
		a.setWanted(d.id, wire.SecretsWanted{})
		a.setBundle(d.id, nil)
		a.pulls.forgetDeployment(d.id)
	case engine.Wake:
		d.wake = e.At
	case engine.Forget:
		delete(a.machines, d.id)
		a.setWanted(d.id, wire.SecretsWanted{})
		a.pulls.forgetDeployment(d.id)
		a.checks.forgetDeployment(d.id)
	}
}

func (a *Agent) setWanted(id string, w wire.SecretsWanted) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if w.Run == "" {
		delete(a.wanted, id)
		return
	}
	a.wishes++
	a.wanted[id] = secretsRequest{SecretsWanted: w, number: a.wishes}
	a.report.notifyAll()
}

func (a *Agent) setBundle(id string, b *bundle) {
	a.mu.Lock()
	defer a.mu.Unlock()
	v := a.views[id]
	v.bundle = b
	a.views[id] = v
}

// publishViews updates the views that other goroutines read.
func (a *Agent) publishViews() {
	defer a.published.notifyAll()
	a.mu.Lock()
	defer a.mu.Unlock()
	for id := range a.views {
		if a.machines[id] == nil {
			delete(a.views, id)
		}
	}
	for id, d := range a.machines {
		v := a.views[id]
		v.goal, v.state = d.m.CurrentGoal(), d.m.State()
		v.steps, v.sealed, v.still = stepsOf(d), d.m.SealedOutputs(), d.m.QuiescedAt()
		v.stopped = d.m.StoppedForCopy()
		v.restarts = map[string]int{}
		if v.goal != nil {
			for _, s := range v.goal.Pipeline.Steps {
				v.restarts[string(s.Key)] = d.m.RestartCount(s.Key)
			}
		}
		a.views[id] = v
	}
}

// timeToWake returns how long no machine has anything to do, at most an hour.
func (a *Agent) timeToWake(now time.Time) time.Duration {
	until := time.Hour
	for _, d := range a.machines {
		if !d.wake.IsZero() {
			until = min(until, d.wake.Sub(now))
		}
	}
	return max(until, 0)
}

func (a *Agent) wakeDueMachines(now time.Time) {
	for _, id := range sortedKeys(a.machines) {
		d := a.machines[id]
		if !d.wake.IsZero() && !now.Before(d.wake) {
			d.wake = time.Time{}
			a.stepMachine(now, d, engine.Tick{})
		}
	}
}

// ensureDeployment returns the deployment's, made if need be.
func (a *Agent) ensureDeployment(id string) *deployment {
	d := a.machines[id]
	if d == nil {
		d = &deployment{id: id, m: engine.New(id), cancel: map[int64]context.CancelFunc{}}
		a.machines[id] = d
	}
	return d
}

// takeGoals passes goals to the machines. A full set also removes deployments that it does
// not list.
func (a *Agent) takeGoals(now time.Time, goals wire.Goals) {
	named := map[string]bool{}
	if goals.Full && a.named != nil {
		named = a.named
	}
	for _, g := range goals.Goals {
		named[g.Deployment] = true
		d := a.ensureDeployment(g.Deployment)
		a.logGoal(d.m.State(), g)
		a.stepMachine(now, d, engine.GoalSet{Goal: g})
	}
	if goals.Full && goals.More {
		a.named = named
	}
	if !goals.Full || goals.More {
		return
	}
	a.asked, a.named, a.held = true, nil, protectedBy(goals)
	for _, id := range sortedKeys(a.machines) {
		if !named[id] && !a.held.ids[id] {
			a.logDisowned(a.machines[id].m.State())
			a.stepMachine(now, a.machines[id], engine.GoalMissing{})
		}
	}
}

// takeSecrets stores a bundle in memory for the deployment that requested that run's
// secrets.
func (a *Agent) takeSecrets(now time.Time, s wire.Secrets) {
	id := a.resolveWish(s)
	d := a.machines[id]
	if d == nil {
		return
	}
	if s.Refused != "" {
		a.stepMachine(now, d, engine.SecretsRefused{Run: s.Run, Generation: s.Generation,
			Reason: s.Refused})
		return
	}
	b := newBundle(id, d.m.CurrentGoal(), s, d.m.SealedOutputs())
	a.setBundle(id, b)
	a.stepMachine(now, d, engine.SecretsArrived{Run: s.Run, Outputs: sortedKeys(b.outputs),
		Begun: s.Begun})
}

// resolveWish finds the deployment whose request for secrets this answers, and ends the
// request. It ignores answers for an older generation: while the disk is full, the same
// request is sent and refused many times, and those refusals arrive after the goal has been
// replaced. A refusal counts only when it is repeated, since the database may not have seen
// this goal yet.
func (a *Agent) resolveWish(s wire.Secrets) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	for id, w := range a.wanted {
		if w.Run != s.Run || w.Generation != s.Generation {
			continue
		}
		if s.Refused != "" && w.refusals == 0 {
			w.refusals++
			a.wishes++
			w.number = a.wishes
			a.wanted[id] = w
			a.report.notifyAll()
			return ""
		}
		delete(a.wanted, id)
		return id
	}
	return ""
}

// takeListing feeds a complete list of objects that was begun at a time.
func (a *Agent) takeListing(now, began time.Time, objects []Object) {
	lists := map[string]*engine.ObjectsListed{}
	there := map[string][]pipeline.StepKey{}
	for _, id := range sortedKeys(a.machines) {
		lists[id] = &engine.ObjectsListed{Began: began}
	}
	for _, o := range objects {
		if lists[o.Deployment] == nil && a.asked && a.held.isOrphan(o.Deployment) {
			// These objects carry our label, but their deployment has no goal.
			a.log.Warn("removing objects of a deployment that has no goal",
				"deployment", o.Deployment, "run", "", "object", o.Name,
				"reason", "the control plane's full list of goals does not name it, and the "+
					"agent has no memory of it")
			a.stepMachine(now, a.ensureDeployment(o.Deployment), engine.GoalMissing{})
			lists[o.Deployment] = &engine.ObjectsListed{Began: began}
		}
		checking := o.Kind == KindPlugin && a.checks.mayOverlap(o.Deployment, began)
		if l := lists[o.Deployment]; l != nil && !checking {
			addToListing(l, o)
		}
		if o.Kind == KindService {
			there[o.Deployment] = append(there[o.Deployment], o.Step)
		}
	}
	for _, id := range sortedKeys(lists) {
		if d := a.machines[id]; d != nil {
			lists[id].Missing = missingServices(d.m.CurrentGoal(), there[id])
			a.stepMachine(now, d, *lists[id])
		}
	}
}

// missingServices are the services of a goal that have no container.
func missingServices(goal *wire.Goal, there []pipeline.StepKey) (all []pipeline.StepKey) {
	if goal == nil {
		return nil
	}
	for _, s := range goal.Pipeline.Steps {
		if s.Service != nil && !slices.Contains(there, s.Key) {
			all = append(all, s.Key)
		}
	}
	return all
}

func addToListing(l *engine.ObjectsListed, o Object) {
	l.Objects++
	switch o.Kind {
	case KindPlugin:
		l.Plugins = append(l.Plugins, o.Step)
	case KindNetwork:
		l.Network = true
	case KindRelay:
		l.Relay = l.Relay || o.Running
	case KindService:
		if o.Running {
			l.Running = append(l.Running, o.Step)
		}
	default:
	}
}
