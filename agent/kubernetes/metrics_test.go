package kubernetes_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/nullops/nullops/agent"
)

// Without the right to ask kubelets, which the chart does not grant, the figures are those of a
// metrics server; of a pod, all containers count.
func TestVitals_AsksTheMetricsServer(t *testing.T) {
	t.Parallel()
	const metrics = "/apis/metrics.k8s.io/v1beta1/"
	pod := func(selector string) string {
		return `{"items": [{"metadata": {"name": "web-1", "namespace": "nullops-9f86d081-` +
			someDeployment + `", "labels": {"nullops.step": "web", "nullops.kind": "service"}},
			` + selector + `}]}`
	}
	a := &apiServer{t: t, denied: map[string]bool{"get nodes/proxy": true}}
	a.answer = func(r *http.Request) (int, string, bool) {
		switch r.URL.Path {
		case "/api/v1/nodes":
			return 200, someMachines, true
		case "/api/v1/pods":
			return 200, pod(`"status": {"phase": "Running"}`), true
		case metrics + "nodes":
			return 200, `{"items": [{"metadata": {"name": "a"},
				"usage": {"cpu": "1500m", "memory": "2Gi"}}]}`, true
		case metrics + "pods":
			if r.URL.Query().Get("labelSelector") != "nullops.install=test" {
				t.Errorf("it asks for the pods %q", r.URL.RawQuery)
			}
			return 200, pod(`"containers": [{"usage": {"cpu": "250000000n", "memory": "64Mi"}},
				{"usage": {"cpu": "50m", "memory": "16Mi"}}]`), true
		}
		if strings.Contains(r.URL.Path, "/proxy/") {
			t.Errorf("it asks a kubelet: %s", r.URL.Path)
		}
		return 0, "", false
	}
	k, err := a.open()
	if err != nil {
		t.Fatal(err)
	}
	v, err := k.Vitals(t.Context(), []agent.ServiceSpec{{Deployment: someDeployment, Step: "web"}})
	if err != nil {
		t.Fatal(err)
	}
	if one := v.Services[0]; v.CPU != 1.5 || v.MemoryUsed != 2<<30 || one.CPU != 0.3 ||
		one.Memory != 80<<20 || v.MemoryOurs != one.Memory {
		t.Errorf("it measures %+v", v)
	}
}
