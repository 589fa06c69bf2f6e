package agent

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/nullops/nullops/agent/engine"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/internal/wait"
	"github.com/nullops/nullops/pipeline"
)

// loop owns the machines: it is the one goroutine that passes events to them.
type loop struct {
	*base
	requests *secretRequests
	node     *nodeInventory
	machines map[string]*deployment
	batch    []entry
	todo     []pendingEffect
	// asked is when a full set of goals arrived in this process.
	asked bool
	// named collects the names of a full set that comes in several messages.
	named map[string]bool
	// held lists deployments that have no goal but must not be removed yet.
	held protectedDeployments
	// ops are the operations that run; Run waits for them.
	ops sync.WaitGroup
	// hangs is closed when a write to the disk has not returned within DiskPatience.
	hangs chan struct{}
}

// deployment is one machine and what runs for it.
type deployment struct {
	id     string
	m      *engine.Machine
	cancel map[int64]context.CancelFunc
	wake   time.Time
	// unready is the service that the run gave up on.
	unready startupFailure
}

// startupFailure is a service that exited or did not become ready, and why.
type startupFailure struct {
	step    pipeline.StepKey
	message string
}

// pendingEffect is an effect that waits for the journal.
type pendingEffect struct {
	d      *deployment
	effect engine.Effect
}

// retryDisk is how long the loop waits when the journal cannot be written.
const retryDisk = time.Second

// runLoop is the one goroutine that passes events to machines. It takes all queued tasks,
// journals their records with one sync, and only then performs the effects.
func (lp *loop) runLoop(ctx context.Context) error {
	for _, id := range sortedKeys(lp.machines) {
		lp.stepMachine(time.Now(), lp.machines[id], engine.AgentRestarted{})
	}
	for {
		if err := lp.commitBatch(ctx); err != nil {
			return err
		}
		timer := time.NewTimer(lp.timeToWake(time.Now()))
		select {
		case <-lp.inbox.wake:
		case <-timer.C:
			lp.wakeDueMachines(time.Now())
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
		timer.Stop()
		for _, task := range lp.inbox.takeAll() {
			task(time.Now())
		}
	}
}

// stepMachine passes an event to a machine and collects the resulting records, reports and
// effects.
func (lp *loop) stepMachine(now time.Time, d *deployment, ev engine.Event) {
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
			lp.todo = append(lp.todo, pendingEffect{d, effect})
		default:
			lp.todo = append(lp.todo, pendingEffect{d, effect})
		}
	}
	if len(e.Records) > 0 || len(e.Events) > 0 || e.Forget {
		lp.batch = append(lp.batch, e)
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
func (lp *loop) commitBatch(ctx context.Context) error {
	for failed := false; len(lp.batch) > 0; failed = true {
		err := lp.saveBatch()
		if err == nil {
			break
		}
		if errors.Is(err, ErrDiskHangs) {
			return err
		}
		if !failed {
			lp.log.Error("the journal cannot be written: nothing new begins until it can",
				"error", err)
		}
		if err := wait.Sleep(ctx, retryDisk); err != nil {
			return err
		}
	}
	lp.batch = nil
	todo := lp.todo
	lp.todo = nil
	for i, p := range todo {
		if do, ok := p.effect.(engine.StartOperation); ok {
			lp.startOperation(ctx, p.d, do, isCanceled(todo[i+1:], p.d, do.Op))
			continue
		}
		lp.performEffect(ctx, p.d, p.effect)
	}
	lp.publishViews()
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

func (lp *loop) saveBatch() error {
	// A disk that returns errors is retried. One that does not even return will not recover
	// within this process.
	watch := time.AfterFunc(lp.config.DiskPatience, func() { close(lp.hangs) })
	lp.node.disk.beginWrite(time.Now())
	err := lp.writeBatch()
	lp.node.disk.endWrite(time.Now(), err)
	if !watch.Stop() {
		return ErrDiskHangs
	}
	return err
}

func (lp *loop) writeBatch() error {
	_, last, _ := lp.store.seqNumbers()
	for _, e := range lp.batch {
		last += int64(len(e.Events))
	}
	if err := lp.state.reserveSeqs(last); err != nil {
		return err
	}
	if err := lp.store.saveEntries(lp.batch); err != nil {
		return err
	}
	if slices.ContainsFunc(lp.batch, func(e entry) bool { return len(e.Records) > 0 }) {
		lp.config.Failpoint.Pass("journal.decided")
	}
	lp.report.notifyAll()
	machines := map[string]*engine.Machine{}
	for id, d := range lp.machines {
		machines[id] = d.m
	}
	if err := lp.store.compactIfLarge(time.Now(), machines); err != nil {
		// The longer file is as good.
		lp.log.Warn("the journal cannot be compacted", "error", err)
	}
	return nil
}

// performEffect does what a machine asked for, other than operations.
func (lp *loop) performEffect(ctx context.Context, d *deployment, effect engine.Effect) {
	switch e := effect.(type) {
	case engine.CancelOperation:
		if cancel := d.cancel[e.Op]; cancel != nil {
			cancel()
		}
	case engine.WantSecrets:
		lp.requests.setWanted(d.id, wire.SecretsWanted{Deployment: d.id, Generation: e.Generation,
			Run: e.Run})
	case engine.DropSecrets:
		lp.requests.setWanted(d.id, wire.SecretsWanted{})
		lp.setBundle(d.id, nil)
		lp.pulls.forgetDeployment(d.id)
	case engine.Wake:
		d.wake = e.At
	case engine.Forget:
		delete(lp.machines, d.id)
		lp.requests.setWanted(d.id, wire.SecretsWanted{})
		lp.pulls.forgetDeployment(d.id)
		lp.checks.forgetDeployment(d.id)
	}
}

// publishViews updates the views that other goroutines read.
func (lp *loop) publishViews() {
	defer lp.published.notifyAll()
	lp.mu.Lock()
	defer lp.mu.Unlock()
	for id := range lp.views {
		if lp.machines[id] == nil {
			delete(lp.views, id)
		}
	}
	for id, d := range lp.machines {
		v := lp.views[id]
		v.goal, v.state = d.m.CurrentGoal(), d.m.State()
		v.steps, v.sealed, v.still = stepsOf(d), d.m.SealedOutputs(), d.m.QuiescedAt()
		v.stopped = d.m.StoppedForCopy()
		v.restarts = map[string]int{}
		if v.goal != nil {
			for _, s := range v.goal.Pipeline.Steps {
				v.restarts[string(s.Key)] = d.m.RestartCount(s.Key)
			}
		}
		lp.views[id] = v
	}
}

// timeToWake returns how long no machine has anything to do, at most an hour.
func (lp *loop) timeToWake(now time.Time) time.Duration {
	until := time.Hour
	for _, d := range lp.machines {
		if !d.wake.IsZero() {
			until = min(until, d.wake.Sub(now))
		}
	}
	return max(until, 0)
}

func (lp *loop) wakeDueMachines(now time.Time) {
	for _, id := range sortedKeys(lp.machines) {
		d := lp.machines[id]
		if !d.wake.IsZero() && !now.Before(d.wake) {
			d.wake = time.Time{}
			lp.stepMachine(now, d, engine.Tick{})
		}
	}
}

// ensureDeployment returns the deployment's, made if need be.
func (lp *loop) ensureDeployment(id string) *deployment {
	d := lp.machines[id]
	if d == nil {
		d = &deployment{id: id, m: engine.New(id), cancel: map[int64]context.CancelFunc{}}
		d.m.LimitSandboxes(lp.config.Sandboxes)
		lp.machines[id] = d
	}
	return d
}

// takeGoals passes goals to the machines. A full set also removes deployments that it does
// not list.
func (lp *loop) takeGoals(now time.Time, goals wire.Goals) {
	named := map[string]bool{}
	if goals.Full && lp.named != nil {
		named = lp.named
	}
	for _, g := range goals.Goals {
		named[g.Deployment] = true
		d := lp.ensureDeployment(g.Deployment)
		lp.logGoal(d.m.State(), g)
		lp.stepMachine(now, d, engine.GoalSet{Goal: g})
	}
	if goals.Full && goals.More {
		lp.named = named
	}
	if !goals.Full || goals.More {
		return
	}
	lp.asked, lp.named, lp.held = true, nil, protectedBy(goals)
	for _, id := range sortedKeys(lp.machines) {
		if !named[id] && !lp.held.ids[id] {
			lp.logDisowned(lp.machines[id].m.State())
			lp.stepMachine(now, lp.machines[id], engine.GoalMissing{})
		}
	}
}

// takeSecrets stores a bundle in memory for the deployment that requested that run's
// secrets.
func (lp *loop) takeSecrets(now time.Time, s wire.Secrets) {
	id := lp.requests.resolveWish(s)
	d := lp.machines[id]
	if d == nil {
		return
	}
	if s.Refused != "" {
		lp.stepMachine(now, d, engine.SecretsRefused{Run: s.Run, Generation: s.Generation,
			Reason: s.Refused})
		return
	}
	b := newBundle(id, d.m.CurrentGoal(), s, d.m.SealedOutputs())
	lp.setBundle(id, b)
	lp.stepMachine(now, d, engine.SecretsArrived{Run: s.Run, Outputs: sortedKeys(b.outputs),
		Begun: s.Begun})
}

// takeListing feeds a complete list of objects that was begun at a time.
func (lp *loop) takeListing(now, began time.Time, objects []Object) {
	lists := map[string]*engine.ObjectsListed{}
	there := map[string][]pipeline.StepKey{}
	for _, id := range sortedKeys(lp.machines) {
		lists[id] = &engine.ObjectsListed{Began: began}
	}
	for _, o := range objects {
		if lists[o.Deployment] == nil && lp.asked && lp.held.isOrphan(o.Deployment) {
			// These objects carry our label, but their deployment has no goal.
			lp.log.Warn("removing objects of a deployment that has no goal",
				"deployment_id", o.Deployment, "run_id", "", "object", o.Name,
				"reason", "the control plane's full list of goals does not name it, and the "+
					"agent has no memory of it")
			lp.stepMachine(now, lp.ensureDeployment(o.Deployment), engine.GoalMissing{})
			lists[o.Deployment] = &engine.ObjectsListed{Began: began}
		}
		checking := o.Kind == KindPlugin && lp.checks.mayOverlap(o.Deployment, began)
		if l := lists[o.Deployment]; l != nil && !checking {
			addToListing(l, o)
		}
		if o.Kind == KindService {
			there[o.Deployment] = append(there[o.Deployment], o.Step)
		}
	}
	for _, id := range sortedKeys(lists) {
		if d := lp.machines[id]; d != nil {
			lists[id].Missing = missingServices(d.m.CurrentGoal(), there[id])
			lp.stepMachine(now, d, *lists[id])
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

// takeAck notes what the control plane has. It runs in the loop.
func (lp *loop) takeAck(seq int64) {
	if e, changed := lp.store.ackEntry(seq); changed {
		lp.batch = append(lp.batch, e)
	}
}
