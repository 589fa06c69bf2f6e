package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/pipeline"
)

// asks makes the shop's pipeline begin with a question.
func (w *world) asks() {
	w.t.Helper()
	p := shopPipeline()
	p.Steps = append(p.Steps, pipeline.Step{Key: "ask", Approval: &pipeline.ApprovalStep{
		Prompt: "Go on?", Fields: []pipeline.ApprovalField{{Name: "rows",
			Type: pipeline.FieldNumber, Required: true}}}})
	p.Steps[0].Needs = []pipeline.StepKey{"ask"}
	w.expectSaved(w.catalog.SavePipeline(w.t.Context(), system, "shop", p, "asks"))
}

// askApproval has the node report that a deployment waits for a person.
func (w *world) askApproval(root, id string) controlplane.Deployment {
	w.t.Helper()
	w.becomes(root, id, controlplane.Applying)
	d, err := w.lifecycle.Get(w.t.Context(), system, controlplane.DeploymentID(id))
	w.expectSaved(d, err)
	w.report(d, lifecycle.Report{Message: "Go on?", Deadline: time.Now().Add(time.Hour),
		Step: &controlplane.StepRow{Key: "ask", Status: pipeline.StepWaiting}})
	return d
}

func answerAt(d controlplane.Deployment) string {
	return "/api/v1/deployments/" + string(d.ID) + "/runs/1/steps/ask/answer"
}

// A node's question is shown to people, and the answer is sent to the node with each goal. Of many
// concurrent answers, one counts.
func TestApproval_AskedAndAnsweredOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	w.asks()
	root := w.token("root")
	d := w.askApproval(root, string(w.deploy("first").ID))
	q := w.showDeployment(root, string(d.ID)).Question
	// promise: B-35
	if q == nil || q.Prompt != "Go on?" || !q.MayAnswer || len(q.Fields) != 1 || q.Run != 1 {
		t.Fatalf("the question is %+v", q)
	}
	w.answersTo(d, nil)
	var mu sync.Mutex
	var all sync.WaitGroup
	got := map[int]int{}
	for range 8 {
		all.Go(func() {
			a := w.call("POST", answerAt(d), root,
				map[string]any{"approved": true, "fields": map[string]any{"rows": 7}})
			mu.Lock()
			defer mu.Unlock()
			got[a.status]++
			if a.status == http.StatusConflict &&
				(a.field("code") != "answered" || !strings.Contains(string(a.body), "root approved")) {
				t.Errorf("the second is told %s", a.body)
			}
		})
	}
	all.Wait()
	if got[http.StatusOK] != 1 || got[http.StatusConflict] != 7 {
		t.Errorf("of eight answers: %v", got)
	}
	if q := w.showDeployment(root, string(d.ID)).Question; q == nil || q.AnsweredBy == nil ||
		q.MayAnswer {
		t.Errorf("before the node heard of it, the question is %+v", q)
	}
	// promise: B-36
	w.answersTo(d, map[string]any{"rows": 7.0})
	w.report(d, lifecycle.Report{Step: &controlplane.StepRow{Key: "ask",
		Status: pipeline.StepDone, Metadata: []controlplane.Metadatum{{Name: "a", Value: "b"}}}})
	if q := w.showDeployment(root, string(d.ID)).Question; q != nil {
		t.Errorf("answered and done, it still asks %+v", q)
	}
	var run api.Run
	w.got("/api/v1/deployments/"+string(d.ID)+"/runs/1", root, &run)
	if m := run.Steps[0].Metadata; m == nil || len(*m) != 1 || (*m)[0].Name != "a" {
		t.Errorf("metadata %v", m)
	}
}

// After a cancel nobody answers, also while the node has not heard of it.
func TestApproval_NotAfterACancel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	w.asks()
	root := w.token("root")
	d := w.askApproval(root, string(w.deploy("first").ID))
	if a := w.call("DELETE", "/api/v1/deployments/"+string(d.ID), root, nil); a.status != 202 {
		t.Fatalf("cancel: %d %s", a.status, a.body)
	}
	if q := w.showDeployment(root, string(d.ID)).Question; q != nil {
		t.Errorf("it still asks %+v", q)
	}
	// promise: B-37
	if a := w.call("POST", answerAt(d), root, map[string]any{"approved": false}); a.status !=
		http.StatusConflict || a.field("code") != "not_waiting" {
		t.Errorf("answered after the cancel: %d %s", a.status, a.body)
	}
}

// answersTo compares the answer that the node gets with the fields that were given.
func (w *world) answersTo(d controlplane.Deployment, want map[string]any) {
	w.t.Helper()
	orders, _, err := w.lifecycle.NodeGoals(w.t.Context(), system, w.node)
	w.expectSaved(orders, err)
	for _, o := range orders {
		if o.Deployment != d.ID {
			continue
		}
		a, said := o.Answers["ask"]
		got, _ := json.Marshal(a.Fields)
		wanted, _ := json.Marshal(want)
		if said != (want != nil) || string(got) != string(wanted) || said && a.By != "root" {
			w.t.Errorf("the node is told %+v, want fields %v", o.Answers, want)
		}
		return
	}
	w.t.Error("the node is told nothing of the deployment")
}

// A run that waits for a person may do so for days, and keeps no other waiting.
func TestQueue_AQuestionTakesNoTurn(t *testing.T) {
	t.Parallel()
	w, root := queueWorld(t)
	w.asks()
	first := w.waits(root, "first", nil)
	w.becomes(root, first.Id, controlplane.Applying)
	second := w.waits(root, "second", nil)
	if second.Queue == nil {
		t.Fatal("the second has to wait while the first works")
	}
	w.askApproval(root, first.Id)
	w.admit()
	if got := w.listGoals(); got != "first second" {
		t.Errorf("while the first asks, the agent is told of %s", got)
	}
}
