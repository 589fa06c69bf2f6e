package sim

import (
	"maps"
	"time"

	"github.com/nullops/nullops/agent/engine"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// scheduleAnswers schedules what people do with a question: some approve it, some reject
// it, some never look, and sometimes two answer at once.
func (w *world) scheduleAnswers(o *order, key pipeline.StepKey) {
	run := o.run
	say := func(who string, approved bool) {
		w.scheduleEvent(w.randomBetween(0, 40*time.Second), "person", func() {
			w.submitAnswer(o, run, key, wire.Answer{Approved: approved, By: who})
		})
	}
	switch n := w.random.IntN(100); {
	case n < 60:
		say("ada", true)
	case n < 75:
		say("bob", false)
	case n < 90:
		say("ada", true)
		say("bob", false)
	default:
		w.met["question that nobody answers"]++
	}
}

// submitAnswer is the control plane accepting an answer: one per question, and only while
// its step waits.
func (w *world) submitAnswer(o *order, run string, key pipeline.StepKey, a wire.Answer) {
	_, said := o.answers[key]
	if said || o.run != run || o.waiting != key {
		w.met["answer that is refused"]++
		return
	}
	answers := map[pipeline.StepKey]wire.Answer{key: a}
	maps.Copy(answers, o.answers)
	o.answers = answers
	w.met["answer"]++
	w.appendTrace("person answers", o.of.id, run, string(key), a.By)
	if a.Approved && o.of.run == run {
		o.of.ok[key] = true
	}
	w.sendGoals()
}

// completeApproval ends an approval's operations, which need no engine.
func (w *world) completeApproval(o *op) {
	r := engine.Result{Outcome: engine.OutcomeOK, Message: "go on?"}
	if o.do.Kind == engine.EvaluateAnswer {
		w.checkAnswer(o)
		r.Sealed, r.Outputs = []byte{1}, map[string]any{}
	}
	w.deliverResult(o, r)
}

// checkAnswer checks that the agent acts on the first answer only.
func (w *world) checkAnswer(o *op) {
	order := w.plane.orderOf(o.of)
	if order == nil || order.run != o.run {
		return
	}
	said, ok := order.answers[o.do.Step]
	if !ok || o.do.Reply == nil || o.do.Reply.By != said.By || !said.Approved {
		w.failWorld("%s: approval %s takes %+v, and %+v was said", o.of.id, o.do.Step, o.do.Reply, said)
	}
}

// checkQuestion fails if an approval ends before its deadline without an answer.
func (w *world) checkQuestion(d *deployment, e wire.Event) {
	switch {
	case e.Status == pipeline.StepWaiting:
		d.deadline = e.Deadline
	case e.Code == engine.CodeUnanswered && e.Step != "" && w.engineTime().Before(d.deadline):
		w.failWorld("%s: approval %s gives up before its deadline", d.id, e.Step)
	}
}
