package main_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane/apiclient"
)

// decidesBy has the agent, once it is started, ask a program of its site about offers.
func (n *node) decidesBy(t *testing.T, script string) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "decide")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	n.more = append(n.more, "--agent.offers.command="+program)
}

// declineOnce has a node that would be chosen decline: the other one gets the deployment, and
// the run says who declined and why.
func declineOnce(t *testing.T, reactive, other *node) {
	t.Helper()
	admin := reactive.p.admin
	if _, errs, code := admin.cli(t, "node", "set", reactive.name, "--reactive",
		"--priority", "1"); code != 0 {
		t.Fatalf("node set: %d %s", code, errs)
	}
	out, errs, code := admin.cli(t, "deploy", "small", "--env", "qa", "--name", "declined",
		"--dry-run")
	if code != 0 || !strings.Contains(out, "if it claims it") ||
		!strings.Contains(out, "Node "+reactive.name+" has room, and would be asked") {
		t.Errorf("the dry run ends with %d: %s%s", code, out, errs)
	}
	var d apiclient.Deployment
	admin.want(t, http.StatusCreated, http.MethodPost, "/deployments", object{"name": "declined",
		"project": "small", "environment": "qa"}, &d)
	if textOf(d.Node) != other.name {
		t.Errorf("it is on node %s", textOf(d.Node))
	}
	var run apiclient.Run
	admin.get(t, fmt.Sprintf("/deployments/%s/runs/%d", d.Id, d.Run), &run)
	// promise: B-29
	if run.Offers == nil || len(*run.Offers) != 1 || (*run.Offers)[0].Node != reactive.name ||
		(*run.Offers)[0].Status != apiclient.NodeOfferStatusDeclined ||
		textOf((*run.Offers)[0].Reason) != "closed today" {
		t.Errorf("the run says that nodes answered %+v", run.Offers)
	}
	if out, _, _ := admin.cli(t, "show", "declined"); !strings.Contains(out,
		"node "+reactive.name+" declined it: closed today") {
		t.Errorf("show says %s", out)
	}
	admin.remove(t, d.Id)
}
