package kubernetes_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nullops/nullops/agent/wire"
)

// A cluster with three machines, of which one is ready and takes pods.
const someMachines = `{"items": [
	{"metadata": {"name": "c"}, "status": {"conditions": [{"type": "Ready", "status": "Unknown",
		"message": "Kubelet stopped posting node status."}],
		"nodeInfo": {"kubeletVersion": "v1.33.1"}}},
	{"metadata": {"name": "a", "annotations": {"projectcalico.org/IPv4Address": "10.0.0.1/24",
		"flannel.alpha.coreos.com/backend-type": "vxlan"}},
		"status": {"allocatable": {"cpu": "3500m", "memory": "8Gi", "ephemeral-storage": "20Gi"},
		"conditions": [{"type": "Ready", "status": "True"}],
		"nodeInfo": {"kubeletVersion": "v1.34.3", "architecture": "amd64"}}},
	{"metadata": {"name": "b"}, "spec": {"unschedulable": true},
		"status": {"allocatable": {"cpu": "2", "memory": "4Gi"},
		"conditions": [{"type": "Ready", "status": "True"}],
		"nodeInfo": {"kubeletVersion": "v1.34.3"}}}]}`

const someClasses = `{"items": [
	{"metadata": {"name": "slow"}, "provisioner": "example.com/disk"},
	{"metadata": {"name": "fast", "annotations":
		{"storageclass.kubernetes.io/is-default-class": "true"}}, "provisioner": "example.com/ssd"}]}`

// answerFacts is an API server of that version with these objects; a path without one is not found.
func answerFacts(
	version string, objects map[string]string,
) func(*http.Request) (int, string, bool) {
	return func(r *http.Request) (int, string, bool) {
		if r.URL.Path == "/version" {
			return 200, `{"gitVersion": "` + version + `"}`, true
		}
		text, ok := objects[r.URL.Path]
		return 200, text, ok
	}
}

func readInventory(t *testing.T, a *apiServer) (wire.Inventory, map[string]wire.Check) {
	t.Helper()
	k, err := a.open()
	if err != nil {
		t.Fatal(err)
	}
	inventory, err := k.Inventory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	checks := map[string]wire.Check{}
	for _, c := range inventory.Checks {
		checks[c.ID] = c
	}
	return inventory, checks
}

// A cluster says what it is: its version, each machine with its state, the network plugin by what
// it leaves on machines, and where volumes come from.
func TestInventory_SaysWhatTheClusterIs(t *testing.T) {
	t.Parallel()
	inventory, checks := readInventory(t, &apiServer{t: t, answer: answerFacts("v1.34.3",
		map[string]string{"/api/v1/nodes": someMachines,
			"/apis/storage.k8s.io/v1/storageclasses": someClasses})})
	want := &wire.Cluster{Version: "v1.34.3", Network: "Calico", MachineCount: 3,
		Machines: []wire.Machine{
			{Name: "a", State: wire.MachineReady, Version: "v1.34.3", CPU: 3.5, Memory: 8 << 30},
			{Name: "b", State: wire.MachineCordoned, Version: "v1.34.3", CPU: 2, Memory: 4 << 30},
			{Name: "c", State: wire.MachineNotReady, Version: "v1.33.1",
				Detail: "Kubelet stopped posting node status."}},
		StorageClasses: []wire.StorageClass{
			{Name: "fast", Provisioner: "example.com/ssd", Default: true},
			{Name: "slow", Provisioner: "example.com/disk"}}}
	if diff := cmp.Diff(want, inventory.Cluster); diff != "" {
		t.Error(diff)
	}
	if inventory.CPU != 3.5 || inventory.Memory != 8<<30 {
		t.Errorf("pods may have %g CPU and %d of memory", inventory.CPU, inventory.Memory)
	}
	for id, severity := range map[string]wire.Severity{"cluster-version": wire.SeverityOK,
		"machines": wire.SeverityWarning, "rights": wire.SeverityOK} {
		if checks[id].Severity != severity {
			t.Errorf("the check %s is %+v", id, checks[id])
		}
	}
	if c := checks["machines"]; !strings.Contains(c.Detail, "1 of 3") ||
		!strings.Contains(c.Detail, "c (Kubelet stopped posting") {
		t.Errorf("the check of machines says %q", c.Detail)
	}
}

// A cluster of another age than the agent is made for is a check with a remedy. What it does not
// tell, such as its StorageClasses, is left out; its network plugin shows by its API groups too.
func TestInventory_ChecksTheClusterVersion(t *testing.T) {
	t.Parallel()
	const groups = `{"groups": [{"name": "apps"}, {"name": "cilium.io"}]}`
	for name, c := range map[string]struct {
		version, says, remedy string
		severity              wire.Severity
	}{
		"too old":      {"v1.29.4", "made for 1.32", "upgrade the cluster", wire.SeverityWarning},
		"just too old": {"v1.31.9", "made for 1.32", "upgrade the cluster", wire.SeverityWarning},
		"two older":    {"v1.32.0", "1.32", "", wire.SeverityOK},
		"two newer":    {"v1.36.3", "1.36", "", wire.SeverityOK},
		"just too new": {"v1.37.0", "made for 1.32", "upgrade NullOps", wire.SeverityWarning},
		"too new":      {"v1.40.0", "made for 1.32", "upgrade NullOps", wire.SeverityWarning},
		// What a provider may call it.
		"fit": {"v1.33+", "1.33", "", wire.SeverityOK},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects := map[string]string{"/api/v1/nodes": strings.ReplaceAll(strings.ReplaceAll(
				someMachines, "projectcalico", "other"), "flannel.", "other."), "/apis": groups}
			inventory, checks := readInventory(t, &apiServer{t: t,
				answer: answerFacts(c.version, objects)})
			got := checks["cluster-version"]
			if got.Severity != c.severity || !strings.Contains(got.Detail, c.says) ||
				!strings.Contains(got.Remedy, c.remedy) {
				t.Errorf("the check says %+v", got)
			}
			if is := inventory.Cluster; is.Network != "Cilium" || len(is.StorageClasses) > 0 {
				t.Errorf("the cluster is %+v", is)
			}
		})
	}
}
