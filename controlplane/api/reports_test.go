package api_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/internal/testpart"
	"github.com/nullops/nullops/pipeline"
)

// stepReport returns a report about the step that the shop has.
func stepReport(status pipeline.StepStatus, message string) lifecycle.Report {
	return lifecycle.Report{Message: message, Step: &controlplane.StepRow{Key: "api",
		Status: status}}
}

// reportInOrder has the world's node say things about a deployment, in order.
func (w *world) reportInOrder(
	d controlplane.Deployment, all ...lifecycle.Report,
) []lifecycle.Report {
	all = slices.Clone(all)
	for i := range all {
		w.seq++
		r := &all[i]
		r.Node, r.Seq, r.Deployment, r.At = w.node, w.seq, d.ID, time.Now()
		r.Generation, r.Run = d.Generation, d.RunID
	}
	return all
}

func (w *world) applyReports(all ...lifecycle.Report) error {
	return w.lifecycle.Apply(context.WithoutCancel(w.t.Context()), system, all...)
}

// showReports returns all that people see of the reports. How often health changed on the way is
// left out: of a set of reports, the last counts.
func (w *world) showReports(id controlplane.DeploymentID) (text string) {
	w.t.Helper()
	w.expectSaved(nil, w.store.Read(w.t.Context(), func(tx *postgres.Tx) error {
		d, err := tx.Deployments().Get(w.t.Context(), id)
		if err != nil {
			return err
		}
		text = fmt.Sprintf("%s %q %+v\n", d.Status, d.Detail, d.Failure)
		events, err := tx.History().List(w.t.Context(), id, 0, 100)
		for _, e := range events {
			if e.Kind == controlplane.HistoryHealth {
				continue
			}
			text += string(e.Kind)
			if e.Step != nil {
				text += fmt.Sprintf(" %s %s %q", e.Step.Key, e.Step.Status, e.Step.Message)
				for _, p := range e.Step.Parts {
					text += fmt.Sprintf(" %s %s %v", p.Kind, p.To.Sub(p.From), p.Failed)
				}
			}
			text += "\n"
		}
		if err != nil {
			return err
		}
		health, err := tx.Health().ListOf(w.t.Context(), id)
		for _, h := range health[id] {
			text += fmt.Sprintf("%s is %s\n", h.Step, h.Health)
		}
		return err
	}))
	return text
}

// Reports that are committed together leave what they leave one by one.
func TestReports_ComeToTheSameTogether(t *testing.T) {
	testpart.Rotate(t)
	w := newWorld(t)
	w.shop()
	began := time.Now()
	pulled, started := stepReport(pipeline.StepRunning, ""), stepReport(pipeline.StepDone, "it is up")
	pulled.Step.Parts = []controlplane.StepPart{
		{Kind: "pull", From: began, To: began.Add(time.Second), Failed: true},
		{Kind: "pull", From: began.Add(time.Second), To: began.Add(2 * time.Second)}}
	started.Step.Parts = []controlplane.StepPart{
		{Kind: "start", From: began.Add(2 * time.Second), To: began.Add(5 * time.Second)}}
	for name, all := range map[string][]lifecycle.Report{
		"good": {{Status: controlplane.Applying}, stepReport(pipeline.StepPulling, ""), pulled, started,
			{Status: controlplane.Ready, Message: "all is up"}},
		"under-way": {{Status: controlplane.Applying}, stepReport(pipeline.StepPulling, "")},
		"bad": {{Status: controlplane.Applying}, stepReport(pipeline.StepPulling, ""),
			{Step: &controlplane.StepRow{Key: "api", Status: pipeline.StepFailed}, Code: "pull",
				Message: "no such image"}, {Status: controlplane.Undoing},
			stepReport(pipeline.StepUndoing, ""), stepReport(pipeline.StepUndone, ""),
			{Status: controlplane.Failed}},
	} {
		t.Run(name, func(t *testing.T) {
			single, together := w.deploy(name+"-1"), w.deploy(name+"-2")
			for _, r := range w.reportInOrder(single, all...) {
				w.expectSaved(nil, w.applyReports(r))
			}
			batch := w.reportInOrder(together, all...)
			w.expectSaved(nil, w.applyReports(batch...))
			want, got := w.showReports(single.ID), w.showReports(together.ID)
			if want != got {
				t.Errorf("one by one:\n%stogether:\n%s", want, got)
			}
			// What comes again changes nothing, nor does part of it.
			w.expectSaved(nil, w.applyReports(batch...))
			w.expectSaved(nil, w.applyReports(batch[1:]...))
			if again := w.showReports(together.ID); again != got {
				t.Errorf("once:\n%stwice:\n%s", got, again)
			}
			for _, d := range []controlplane.Deployment{single, together} {
				w.expectParts(name == "good", d)
			}
		})
	}
}

// expectParts checks that the page of a run tells how the step has spent its time.
func (w *world) expectParts(known bool, d controlplane.Deployment) {
	w.t.Helper()
	var run api.Run
	w.expect(http.StatusOK, "GET", "/deployments/"+string(d.ID)+"/runs/1", w.token("root"), nil, &run)
	var said []string
	for _, p := range valueOf(run.Steps[0].Parts) {
		said = append(said, fmt.Sprint(p.Kind, " ", p.To.Sub(p.From), " ", valueOf(p.Failed)))
	}
	want := ""
	if known {
		want = "pull 1s true, pull 1s false, start 3s false"
	}
	if got := strings.Join(said, ", "); got != want {
		w.t.Errorf("the parts are %q, want %q", got, want)
	}
}

// One report that cannot be stored leaves nothing of its commit: all of it may come
// again, without the one.
func TestReports_AreStoredAllOrNone(t *testing.T) {
	w := newWorld(t)
	w.shop()
	good, other := w.deploy("good"), w.deploy("other")
	before := w.showReports(good.ID)
	batch := w.reportInOrder(good, lifecycle.Report{Status: controlplane.Applying},
		stepReport(pipeline.StepPulling, ""))
	bad := w.reportInOrder(other, lifecycle.Report{Status: controlplane.Applying},
		stepReport(pipeline.StepPulling, "no text: \x00"))
	if err := w.applyReports(append(slices.Clone(batch), bad...)...); err == nil {
		t.Fatal("text that no database takes was taken")
	}
	if after := w.showReports(good.ID); after != before {
		t.Errorf("something is left:\n%sthan before:\n%s", after, before)
	}
	w.expectSaved(nil, w.applyReports(batch...))
	if after := w.showReports(good.ID); after == before {
		t.Error("what is acceptable was not stored by itself")
	}
	if err := w.applyReports(bad...); err == nil {
		t.Error("text that no database takes was taken by itself")
	}
}
