package kubernetes_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// Given up, a machine keeps nothing that waits for it: its pods with volumes are taken out of the
// cluster's store, and no other pod is. A machine that answers may be at work: it is refused.
func TestGiveUpMachine_ReleasesVolumes(t *testing.T) {
	t.Parallel()
	const pods = `{"items": [
		{"metadata": {"name": "db-0", "namespace": "n", "uid": "1", "labels":
			{"nullops.kind": "service"}}, "spec": {"nodeName": "c", "volumes": [
			{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]}},
		{"metadata": {"name": "copy", "namespace": "n", "uid": "2", "labels":
			{"nullops.kind": "copy"}}, "spec": {"nodeName": "c", "volumes": [
			{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]}},
		{"metadata": {"name": "web", "namespace": "n", "uid": "3"}, "spec": {"nodeName": "c"}},
		{"metadata": {"name": "other", "namespace": "n", "uid": "4"}, "spec": {"nodeName": "a",
			"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]}}]}`
	var machines string
	var selectors []string
	a := &apiServer{t: t}
	a.answer = func(r *http.Request) (int, string, bool) {
		switch {
		case r.Method == http.MethodDelete:
			return 200, `{"kind": "Pod", "apiVersion": "v1"}`, true
		case r.URL.Path == "/api/v1/nodes":
			return 200, machines, true
		case r.URL.Path == "/api/v1/pods":
			selectors = append(selectors, r.URL.Query().Get("labelSelector"))
			return 200, pods, true
		}
		return 0, "", false
	}
	k, err := a.open()
	if err != nil {
		t.Fatal(err)
	}
	for says, answer := range map[string]string{
		"has no machine c": `{"items": []}`,
		"kubectl drain c": `{"items": [{"metadata": {"name": "c"}, "status": {"conditions": [
			{"type": "Ready", "status": "True"}]}}]}`,
	} {
		machines = answer
		if n, err := k.GiveUpMachine(t.Context(), "c"); n != 0 || err == nil ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("it does not say %q: %d, %v", says, n, err)
		}
	}
	if changed := a.changed(); len(changed) > 0 {
		t.Errorf("although it refused, it did %v", changed)
	}
	machines = `{"items": [{"metadata": {"name": "c"}, "status": {"conditions": [
		{"type": "Ready", "status": "Unknown"}]}}]}`
	n, err := k.GiveUpMachine(t.Context(), "c")
	if err != nil || n != 1 {
		t.Errorf("released %d services: %v", n, err)
	}
	want := []string{"DELETE /api/v1/namespaces/n/pods/db-0", "DELETE /api/v1/namespaces/n/pods/copy"}
	if got := a.changed(); !slices.Equal(got, want) {
		t.Errorf("it did %q, wanted %q", got, want)
	}
	if !slices.Contains(selectors, "nullops.install=test") {
		t.Errorf("it listed the pods of %q", selectors)
	}
}
