package main

import (
	"testing"

	"github.com/nullops/nullops/controlplane/apiclient"
)

// What lists and pages of a terminal call a deployment is what --status finds it by.
func TestStateOf_IsTheConditionThatFiltersUse(t *testing.T) {
	offline := apiclient.DeploymentConditionOffline
	away, copied := "node fra-01 is offline", "step 2 of 5"
	down := "service api is not running"
	for name, c := range map[string]struct {
		d             apiclient.Deployment
		state, detail string
	}{
		"ready": {apiclient.Deployment{Status: "ready",
			Condition: new(apiclient.DeploymentConditionReady)}, "ready", ""},
		"degraded": {apiclient.Deployment{Status: "ready", ConditionReason: &down,
			Condition: new(apiclient.DeploymentConditionDegraded)}, "degraded", down},
		"offline": {apiclient.Deployment{Status: "ready", Condition: &offline,
			ConditionReason: &away}, "offline", "ready; " + away},
		"offline under way": {apiclient.Deployment{Status: "applying", Condition: &offline,
			ConditionReason: &away, Detail: &copied}, "offline", "applying, " + copied + "; " + away},
		"failed": {apiclient.Deployment{Status: "failed", Detail: &down}, "failed", down},
	} {
		if state, detail := stateOf(c.d), detailOf(c.d); state != c.state || detail != c.detail {
			t.Errorf("%s is shown as %q (%q)", name, state, detail)
		}
	}
}

// Allocated CPU is shown of what may be allocated: the cores, times the overcommit.
func TestPromisedText_SaysOfHowMuch(t *testing.T) {
	n := apiclient.Node{Allocated: apiclient.Resources{CPU: 1.5, MemoryMiB: 512}}
	if got := promisedText(n); got != "1.5 CPU, 512 MiB" {
		t.Errorf("of an unknown machine: %q", got)
	}
	n.Inventory, n.CpuOvercommit = &apiclient.Inventory{Cpu: 8}, new(4.0)
	if got := promisedText(n); got != "1.5 of 32 (8x4) CPU, 512 MiB" {
		t.Errorf("it is %q", got)
	}
}
