package main_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane/apiclient"
)

// jobStep is a migration whose exit code is given, with a tag that is chosen.
func jobStep(key, code string, needs ...string) object {
	return object{"key": key, "needs": append([]string{}, needs...), "job": object{"name": "migration",
		"command": []string{"exit", code}, "timeout_seconds": 120,
		"resources": object{"cpu": 0.2, "memory_mib": 64}}}
}

// jobs runs a migration that fails, repairs it, and tries the deployment again.
func jobs(t *testing.T, p *product, n *node, book *ledger) {
	t.Helper()
	tag := p.w.publishActor(t, "nullops-test/migration")
	p.admin.put(t, "/services/migration", object{"registry": "local",
		"image": "nullops-test/migration", "tag_mode": "selectable", "tag": "not-this-one"}, nil)
	steps := func(code string) []object {
		return []object{book.ledgerStep("first", "ledger", nil, nil), jobStep("migrate", code, "first"),
			book.ledgerStep("after", "ledger", []string{"migrate"}, nil), webStep("web", "after")}
	}
	p.define(t, "migrated", steps("3")...)
	d := p.admin.deploy(t, "migrated", "migrated", map[string]string{"migrate": tag})
	// promise: N-332
	d = p.admin.await(t, d.Id, apiclient.DeploymentStatusFailed)
	run := p.admin.run(t, d)
	s := findStep(t, run, "migrate")
	if d.Failure == nil || textOf(d.Failure.Step) != "migrate" || d.Failure.Code != "exit_code" ||
		s.Kind != apiclient.StepKindJob || s.ExitCode == nil || *s.ExitCode != 3 ||
		!strings.Contains(d.Failure.Message, "ended with exit code 3; its log says: exiting with 3") {
		t.Errorf("a migration that exits with 3: %+v, step %+v", d.Failure, s)
	}
	if got := book.of("migrated"); !slices.Equal(got, []string{"create first", "delete first"}) ||
		findStep(t, run, "after").StartedAt != nil {
		t.Errorf("ledger %v after a migration that failed, and the next step is %+v", got,
			findStep(t, run, "after"))
	}
	if log := p.admin.stepLog(t, d, "migrate"); !slices.Contains(log, "exiting with 3") {
		t.Errorf("the log of a migration that is gone: %q", log)
	}
	n.nothingLeft(t, d.Id)

	p.savePipeline(t, "migrated", steps("0")...)
	p.admin.want(t, http.StatusAccepted, http.MethodPost, "/deployments/"+d.Id+"/retry", nil, nil)
	d = p.admin.await(t, d.Id, apiclient.DeploymentStatusReady)
	run = p.admin.run(t, d)
	s, after := findStep(t, run, "migrate"), findStep(t, run, "after")
	if s.Status != apiclient.StepStatusDone || s.EndedAt == nil || after.StartedAt == nil ||
		after.StartedAt.Before(*s.EndedAt) {
		t.Errorf("the retried migration is %+v, and the next step %+v", s, after)
	}
	// A job that is done is no service that could be unhealthy.
	if len(d.Services) != 1 || d.Services[0].Step != "web" || len(d.Versions) != 2 {
		t.Errorf("services %+v, versions %+v", d.Services, d.Versions)
	}
	eventually(t, "the command line prints the log of a job that is done", func() string {
		out, errs, code := p.admin.cli(t, "logs", "migrated", "migrate")
		if code != 0 || !strings.Contains(out, "exiting with 0") {
			return out + errs
		}
		return ""
	})
	p.admin.remove(t, d.Id)
	n.nothingLeft(t, d.Id)
}
