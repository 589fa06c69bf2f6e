package main_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/testpart"
)

// approvalStep returns a step that waits for a person.
func approvalStep(key string, needs []string, more object) object {
	approval := object{"prompt": "Go on with ${{ deployment.name }}?", "fields": []object{
		{"name": "size", "type": "choice", "choices": []string{"small", "full"}, "default": "small"},
		{"name": "rows", "label": "How many", "type": "number", "required": true},
	}}
	maps.Copy(approval, more)
	return object{"key": key, "needs": append([]string{}, needs...), "approval": approval}
}

// question waits until a deployment has an open question.
func (who *person) question(t *testing.T, d apiclient.Deployment) (q apiclient.Question) {
	t.Helper()
	eventually(t, d.Name+" asks", func() string {
		now := who.deployment(t, d.Id)
		if now.Question == nil {
			return who.describe(t, now)
		}
		q = *now.Question
		return ""
	})
	return q
}

func answerPath(d apiclient.Deployment, step string) string {
	return "/deployments/" + d.Id + "/runs/1/steps/" + step + "/answer"
}

// approvals answers questions in every way, as every kind of actor.
func approvals(t *testing.T, w *world) {
	testpart.Rotate(t)
	p, book := w.product(), newLedger(t)
	n := p.node("alpha")
	first := book.ledgerStep("first", "ledger", nil, nil)
	use := book.ledgerStep("use", "ledger", []string{"ask"}, object{
		"seconds": "${{ steps.ask.outputs.rows }}",
		"text": "${{ steps.ask.outputs.rows }} ${{ steps.ask.outputs.size }} " +
			"${{ steps.ask.outputs.answer }} by ${{ steps.ask.outputs.answered_by }}"})
	p.define(t, "ask", first, approvalStep("ask", []string{"first"}, nil), use)
	p.define(t, "ask-soon", first, approvalStep("ask", []string{"first"},
		object{"timeout_seconds": 1}))
	p.define(t, "ask-named", approvalStep("ask", nil, object{"fields": []object{},
		"teams": []string{"team-ask-reader"}}))
	full := p.member(t, "ask-full", object{"project": "ask", "level": "full"},
		object{"project": "ask-named", "level": "full"})
	reader := p.member(t, "ask-reader", object{"project": "ask", "level": "read"},
		object{"project": "ask-named", "level": "read"})
	made := map[string]apiclient.Deployment{}
	for _, name := range []string{"ask-yes", "ask-no", "ask-gone", "ask-race"} {
		made[name] = p.admin.deploy(t, "ask", name, nil)
	}
	made["ask-late"] = p.admin.deploy(t, "ask-soon", "ask-late", nil)
	made["ask-named"] = p.admin.deploy(t, "ask-named", "ask-named", nil)
	refusedAnswers(t, made["ask-yes"], full, reader)
	approveByCLI(t, book, made["ask-yes"], full, reader)
	rejectRun(t, n, book, made["ask-no"], full)
	canceledQuestion(t, n, made["ask-gone"], full)
	raceAnswers(t, made["ask-race"], p.admin, full)
	expireApproval(t, n, book, p.admin.await(t, made["ask-late"].Id, apiclient.DeploymentStatusFailed),
		p.admin)
	answerAsNamed(t, made["ask-named"], full, reader)
	for _, name := range []string{"ask-yes", "ask-no", "ask-race", "ask-late", "ask-named"} {
		p.admin.remove(t, made[name].Id)
	}
}

// refusedAnswers tries what nobody may answer.
func refusedAnswers(t *testing.T, d apiclient.Deployment, full, reader *person) {
	t.Helper()
	q := full.question(t, d)
	// promise: B-35
	if q.Prompt != "Go on with ask-yes?" || !q.MayAnswer || len(q.Fields) != 2 ||
		q.Deadline.Sub(q.AskedAt).Hours() != 24 {
		t.Errorf("the question is %+v", q)
	}
	// promise: B-12
	if s := findStep(t, full.run(t, d), "ask"); s.Status != apiclient.StepStatusWaiting ||
		s.Kind != apiclient.StepKindApproval || textOf(s.Message) != q.Prompt {
		t.Errorf("the step is %+v", s)
	}
	if q := reader.question(t, d); q.MayAnswer || !strings.Contains(textOf(q.Refusal), "full access") {
		t.Errorf("a reader sees %+v", q)
	}
	good := object{"approved": true, "fields": object{"rows": 7}}
	reader.expectProblem(t, http.StatusForbidden, http.MethodPost, answerPath(d, "ask"), good)
	full.expectProblem(t, http.StatusNotFound, http.MethodPost, answerPath(d, "nix"), good)
	full.expectProblem(t, http.StatusConflict, http.MethodPost, answerPath(d, "first"), good,
		"no_question")
	for _, c := range []struct {
		body object
		says string
	}{
		{object{"approved": true}, "fields.rows"},
		{object{"approved": true, "fields": object{"rows": "7"}}, "fields.rows"},
		{object{"approved": true, "fields": object{"rows": 7, "size": "huge"}}, "fields.size"},
		{object{"approved": true, "fields": object{"rows": 7, "colour": "red"}}, "fields.colour"},
		{object{"fields": object{"rows": 7}}, "approved"},
	} {
		full.expectProblem(t, http.StatusBadRequest, http.MethodPost, answerPath(d, "ask"), c.body,
			c.says)
	}
}

// approveByCLI answers with the command line; the next step uses the answer.
func approveByCLI(t *testing.T, book *ledger, d apiclient.Deployment, full, reader *person) {
	t.Helper()
	out, _, _ := full.cli(t, "show", d.Name)
	if !strings.Contains(out, "waits at ask: Go on with ask-yes?") ||
		!strings.Contains(out, "--field size=small|full (default small)") ||
		!strings.HasPrefix(out, d.Name+"  waiting  ") {
		t.Errorf("show says:\n%s", out)
	}
	out, _, _ = full.cli(t, "list", "--status", "waiting")
	if !strings.Contains(out, d.Name+" ") || strings.Contains(out, "applying") {
		t.Errorf("the list of what waits says:\n%s", out)
	}
	if _, errs, code := reader.cli(t, "answer", d.Name, "--approve", "--field", "rows=1"); code != 4 {
		t.Errorf("a reader's answer ends with %d: %s", code, errs)
	}
	if _, errs, code := full.cli(t, "answer", d.Name); code != 2 {
		t.Errorf("neither yes nor no ends with %d: %s", code, errs)
	}
	if _, errs, code := full.cli(t, "answer", d.Name, "--approve"); code != 3 ||
		!strings.Contains(errs, "fields.rows") {
		t.Errorf("an answer without its field ends with %d: %s", code, errs)
	}
	out, errs, code := full.cli(t, "answer", d.Name, "ask", "--approve", "--field", "rows=7",
		"--field", "size=full")
	if code != 0 || !strings.Contains(out, "ask approved") {
		t.Errorf("the answer ends with %d: %s%s", code, out, errs)
	}
	full.await(t, d.Id, apiclient.DeploymentStatusReady)
	// promise: B-36
	if got := book.of(d.Name); !slices.Contains(got, "create 7 full approved by ask-full") {
		t.Errorf("the step behind got %v", got)
	}
	s := findStep(t, full.run(t, d), "ask")
	if s.Outputs == nil || (*s.Outputs)["rows"] != 7.0 || textOf(s.Message) != "ask-full approved it" {
		t.Errorf("the step is %+v", s)
	}
	if now := full.deployment(t, d.Id); now.Question != nil {
		t.Errorf("it still asks %+v", now.Question)
	}
	full.expectProblem(t, http.StatusConflict, http.MethodPost, answerPath(d, "ask"),
		object{"approved": false}, "answered", "ask-full approved step ask at 20")
	if _, _, code := full.cli(t, "answer", d.Name, "ask", "--reject"); code != 3 {
		t.Errorf("a second answer ends with %d", code)
	}
	checkApprovalAudit(t, full, d.Name)
}

// checkApprovalAudit: who answered is written down, and who tried to.
func checkApprovalAudit(t *testing.T, who *person, name string) {
	t.Helper()
	var list apiclient.AuditList
	who.get(t, "/audit?action=answer&object="+name, &list)
	ok := 0
	for _, e := range list.Items {
		if e.Result == apiclient.AuditResultOk {
			ok++
		}
	}
	if ok != 1 || len(list.Items) < 2 {
		t.Errorf("audit of the answer: %+v", list.Items)
	}
}

// rejectRun: a no fails the run, and everything it made is undone.
func rejectRun(t *testing.T, n *node, book *ledger, d apiclient.Deployment, full *person) {
	t.Helper()
	full.question(t, d)
	n.mustBeThere(t, d.Id, "network")
	full.want(t, http.StatusOK, http.MethodPost, answerPath(d, "ask"), object{"approved": false}, nil)
	d = full.await(t, d.Id, apiclient.DeploymentStatusFailed)
	if d.Failure == nil || d.Failure.Code != "rejected" ||
		!strings.Contains(d.Failure.Message, "ask-full rejected it") {
		t.Errorf("failure %+v", d.Failure)
	}
	if got := book.of(d.Name); !slices.Equal(got, []string{"create first", "delete first"}) {
		t.Errorf("ledger %v", got)
	}
	n.nothingLeft(t, d.Id)
}

// canceledQuestion: a question of a canceled run cannot be answered.
func canceledQuestion(t *testing.T, n *node, d apiclient.Deployment, full *person) {
	t.Helper()
	full.question(t, d)
	// promise: B-37
	if d = full.remove(t, d.Id); d.Status != apiclient.DeploymentStatusCanceled {
		t.Errorf("canceled while it asks, it is %s", d.Status)
	}
	if s := findStep(t, full.run(t, d), "ask"); s.Status != apiclient.StepStatusSkipped ||
		!strings.Contains(textOf(s.Message), "before anybody answered") {
		t.Errorf("the step is %+v", s)
	}
	full.expectProblem(t, http.StatusConflict, http.MethodPost, answerPath(d, "ask"),
		object{"approved": false}, "not_waiting")
	n.nothingLeft(t, d.Id)
}

// raceAnswers: of a yes and a no at once, one counts, and the other is informed which.
func raceAnswers(t *testing.T, d apiclient.Deployment, one, other *person) {
	t.Helper()
	one.question(t, d)
	got := map[*person]answer{}
	var mu sync.Mutex
	var both sync.WaitGroup
	for who, body := range map[*person]object{
		one:   {"approved": true, "fields": object{"rows": 1}},
		other: {"approved": false},
	} {
		both.Go(func() {
			a := who.ask(t, http.MethodPost, answerPath(d, "ask"), body)
			mu.Lock()
			defer mu.Unlock()
			got[who] = a
		})
	}
	both.Wait()
	first, second, end := one, other, apiclient.DeploymentStatusReady
	if got[other].status == http.StatusOK {
		first, second, end = other, one, apiclient.DeploymentStatusFailed
	}
	if got[first].status != http.StatusOK || got[second].status != http.StatusConflict ||
		!strings.Contains(got[second].body, first.name) {
		t.Errorf("%s got %s, %s got %s", first.name, got[first], second.name, got[second])
	}
	one.await(t, d.Id, end)
}

// expireApproval: the wait has an end.
func expireApproval(t *testing.T, n *node, book *ledger, d apiclient.Deployment, who *person) {
	t.Helper()
	// promise: B-37
	if d.Failure == nil || d.Failure.Code != "unanswered" || textOf(d.Failure.Step) != "ask" {
		t.Errorf("failure %+v", d.Failure)
	}
	if got := book.of(d.Name); !slices.Equal(got, []string{"create first", "delete first"}) {
		t.Errorf("ledger %v", got)
	}
	who.expectProblem(t, http.StatusConflict, http.MethodPost, answerPath(d, "ask"),
		object{"approved": false}, "not_waiting")
	n.nothingLeft(t, d.Id)
}

// answerAsNamed: whom the question names may answer, also with read access; others may
// not, also with full access.
func answerAsNamed(t *testing.T, d apiclient.Deployment, full, reader *person) {
	t.Helper()
	if q := full.question(t, d); q.MayAnswer ||
		!strings.Contains(textOf(q.Refusal), "a member of team team-ask-reader") {
		t.Errorf("whom nobody named sees %+v", q)
	}
	full.expectProblem(t, http.StatusForbidden, http.MethodPost, answerPath(d, "ask"),
		object{"approved": true})
	reader.want(t, http.StatusOK, http.MethodPost, answerPath(d, "ask"),
		object{"approved": true}, nil)
	reader.await(t, d.Id, apiclient.DeploymentStatusReady)
}

// answeredWhileDead answers while the agent is killed; it hears of it when it is
// back, and does nothing twice.
func answeredWhileDead(t *testing.T, p *product, n *node, book *ledger) {
	t.Helper()
	p.define(t, "ask-dead", book.ledgerStep("first", "ledger", nil, nil),
		approvalStep("ask", []string{"first"}, nil),
		book.ledgerStep("use", "ledger", []string{"ask"},
			object{"text": "${{ steps.ask.outputs.size }}"}))
	d := p.admin.deploy(t, "ask-dead", "ask-dead", nil)
	p.admin.question(t, d)
	n.agent.kill()
	p.admin.want(t, http.StatusOK, http.MethodPost, answerPath(d, "ask"),
		object{"approved": true, "fields": object{"rows": 1}}, nil)
	if q := p.admin.deployment(t, d.Id).Question; q == nil || q.AnsweredBy == nil ||
		*q.AnsweredBy != "admin" || q.MayAnswer {
		t.Errorf("answered, and not heard of yet: %+v", q)
	}
	n.start(t)
	p.admin.await(t, d.Id, apiclient.DeploymentStatusReady)
	if got := book.of(d.Name); !slices.Equal(got, []string{"create first", "create small"}) {
		t.Errorf("ledger %v", got)
	}
	p.admin.remove(t, d.Id)
	n.nothingLeft(t, d.Id)
}

// unansweredAlone: an agent that nobody speaks to ends the wait by itself.
func unansweredAlone(t *testing.T, p *product, n *node, book *ledger) {
	t.Helper()
	p.define(t, "ask-alone", book.ledgerStep("first", "ledger", nil, nil),
		approvalStep("ask", []string{"first"}, object{"timeout_seconds": 5}))
	n.await(t, apiclient.NodeStatusOnline)
	d := p.admin.deploy(t, "ask-alone", "ask-alone", nil)
	// With its first step it has all it needs, and makes no more requests.
	book.await(t, d.Name, "create first")
	p.controlPlane.kill()
	// promise: B-37
	eventually(t, "the agent ends the wait alone", func() string {
		return strings.Join(n.leftOf(t, d.Id), " ")
	})
	p.startControlPlane(t)
	d = p.admin.await(t, d.Id, apiclient.DeploymentStatusFailed)
	if d.Failure == nil || d.Failure.Code != "unanswered" {
		t.Errorf("failure %+v", d.Failure)
	}
	if got := book.of(d.Name); !slices.Equal(got, []string{"create first", "delete first"}) {
		t.Errorf("ledger %v", got)
	}
}
