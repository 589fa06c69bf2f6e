package sim

import (
	"slices"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// controlPlane models the control plane: a database that is always right, and a
// process that comes and goes.
type controlPlane struct {
	down    bool
	session int
	greeted bool
	// last and events are committed.
	last   int64
	events []wire.Event
	orders []*order
}

// order is what the database says of a deployment.
type order struct {
	of         *deployment
	generation int64
	want       wire.Want
	run        string
	runs       int
	status     string
	canceled   bool
	outputs    map[pipeline.StepKey][]byte
	// waiting is the approval that the run waits at, answers holds the answers given.
	waiting pipeline.StepKey
	answers map[pipeline.StepKey]wire.Answer
	// told, toldReady and toldAnswers are what was last sent on the present session.
	told        int64
	toldReady   bool
	toldAnswers int
}

// The statuses of controlplane that matter here.
const (
	queued    = "queued"
	applying  = "applying"
	ready     = "ready"
	undoing   = "undoing"
	failed    = "failed"
	canceled  = "canceled"
	removing  = "removing"
	removed   = "removed"
	stuck     = "stuck"
	forgotten = "forgotten"
)

// canMove is controlplane's table.
func canMove(from, to string) bool {
	switch from {
	case queued:
		return to == applying || to == undoing || to == failed || to == canceled
	case applying:
		return to == ready || to == undoing || to == failed
	case undoing:
		return to == failed || to == canceled || to == stuck || to == forgotten
	case failed:
		return to == queued || to == removing
	case ready:
		return to == removing
	case removing:
		return to == removed || to == stuck || to == forgotten
	case stuck:
		return to == removing || to == forgotten
	}
	return false
}

// isFinal reports whether the status is one without a goal.
func (o *order) isFinal() bool {
	return slices.Contains([]string{failed, canceled, removed, forgotten}, o.status)
}

func (p *controlPlane) orderOf(d *deployment) *order {
	for _, o := range p.orders {
		if o.of == d {
			return o
		}
	}
	return nil
}

// createOrder is a person's wish for a new deployment.
func (w *world) createOrder(d *deployment) {
	o := &order{of: d, want: wire.WantPresent, status: queued}
	w.plane.orders = append(w.plane.orders, o)
	w.newRun(o)
}

func (w *world) newRun(o *order) {
	o.runs++
	o.generation++
	o.want, o.canceled, o.status = wire.WantPresent, false, queued
	o.run, o.outputs = o.of.id+"-run"+formatInt(o.runs), map[pipeline.StepKey][]byte{}
	o.waiting, o.answers = "", nil
	w.appendTrace("person wants", o.of.id, o.run)
	w.sendGoals()
}

// retryOrder makes a new run of a failed deployment.
func (w *world) retryOrder(o *order) {
	if o.status == failed {
		w.met["retry"]++
		w.newRun(o)
	}
}

// requestRemoval is a person cancelling or removing the deployment.
func (w *world) requestRemoval(o *order) {
	to := removing
	switch o.status {
	case queued, applying:
		to = undoing
	case undoing:
		if o.want == wire.WantGone {
			return
		}
		to = undoing
	case removing, removed, canceled, forgotten:
		return
	}
	w.met["taken while "+o.status]++
	o.canceled = o.canceled || to == undoing
	o.want, o.status = wire.WantGone, to
	o.generation++
	w.appendTrace("person takes", o.of.id, formatInt(o.generation))
	w.sendGoals()
}

// receiveReport handles a report of the agent.
func (p *controlPlane) receiveReport(w *world, n int, message any) {
	switch r := message.(type) {
	case welcome:
		if r.last < p.last {
			w.failWorld("the agent made %d reports, and %d are committed", r.last, p.last)
		}
		p.greeted = true
		w.toAgent(n, wire.Ack{Seq: p.last})
		goals := wire.Goals{Full: true}
		for _, o := range p.orders {
			o.told, o.toldReady, o.toldAnswers = o.generation, o.status == ready, len(o.answers)
			if !o.isFinal() {
				goals.Goals = append(goals.Goals, o.currentGoal())
			}
		}
		w.toAgent(n, goals)
	case wire.Event:
		p.commitReport(w, r)
		w.toAgent(n, wire.Ack{Seq: p.last})
	case wire.SecretsWanted:
		p.answerSecrets(w, n, r)
	}
}

func (o *order) currentGoal() wire.Goal {
	isReady := o.status == ready && o.want == wire.WantPresent
	return o.of.newGoal(o.generation, o.want, o.run, isReady, o.answers)
}

// sendGoals says what changed, if there is anybody to tell.
func (w *world) sendGoals() {
	p := &w.plane
	if !p.greeted || !w.link.up || p.session != w.link.number {
		return
	}
	var goals wire.Goals
	for _, o := range p.orders {
		isReady := o.status == ready
		if o.isFinal() || o.told == o.generation && o.toldReady == isReady &&
			o.toldAnswers == len(o.answers) {
			continue
		}
		o.told, o.toldReady, o.toldAnswers = o.generation, isReady, len(o.answers)
		goals.Goals = append(goals.Goals, o.currentGoal())
	}
	if len(goals.Goals) > 0 {
		w.toAgent(p.session, goals)
	}
}

// commitReport takes a report once.
func (p *controlPlane) commitReport(w *world, e wire.Event) {
	if e.Seq <= p.last {
		return
	}
	p.last = e.Seq
	p.events = append(p.events, e)
	o := p.orderOf(w.findDeployment(e.Deployment))
	if o == nil {
		return
	}
	if e.Step != "" {
		if e.Run == o.run && e.Sealed != nil {
			o.outputs[e.Step] = e.Sealed
		}
		if e.Run == o.run && o.waiting == e.Step {
			o.waiting = ""
		}
		if e.Run == o.run && e.Status == pipeline.StepWaiting {
			o.waiting = e.Step
			w.scheduleAnswers(o, e.Step)
		}
		return
	}
	to := string(e.Phase)
	if o.canceled && o.want == wire.WantGone && o.status == undoing {
		switch to {
		case removing:
			to = undoing
		case removed, failed:
			to = canceled
		}
	}
	if e.Generation != o.generation || !canMove(o.status, to) {
		return
	}
	o.status = to
	w.appendTrace("status", o.of.id, to)
	w.sendGoals()
}

// answerSecrets answers, refuses, or says nothing while the database is away.
func (p *controlPlane) answerSecrets(w *world, n int, r wire.SecretsWanted) {
	if w.injectFault(60, "no answer for secrets") {
		return
	}
	o := p.orderOf(w.findDeployment(r.Deployment))
	gone := o == nil || slices.Contains([]string{canceled, removed, forgotten}, o.status)
	if gone || o.generation != r.Generation || o.run != r.Run {
		w.toAgent(n, wire.Secrets{Run: r.Run, Generation: r.Generation, Refused: "not your run"})
		return
	}
	answer := wire.Secrets{Run: r.Run, Generation: r.Generation,
		Outputs: map[pipeline.StepKey][]byte{}}
	for _, key := range o.of.graph.Order {
		if sealed := o.outputs[key]; sealed != nil {
			answer.Outputs[key] = sealed
		}
	}
	w.toAgent(n, answer)
}

// failPlane ends the control plane's process; another starts.
func (w *world) failPlane() {
	w.met["control plane killed"]++
	w.plane.down, w.plane.greeted = true, false
	w.dropLink("the control plane died")
	w.scheduleEvent(w.randomBetween(time.Second, 10*time.Second), "control plane starts", func() {
		w.plane.down = false
	})
}
