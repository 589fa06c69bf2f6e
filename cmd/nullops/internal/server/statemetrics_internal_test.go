package server

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres"
)

// Each number of the database has its gauge, and the registry of metrics takes them all.
func TestStateMetrics_ShowsWhatWasCounted(t *testing.T) {
	t.Parallel()
	m := newMetricsOfState(nil)
	m.read = time.Now()
	m.counts = postgres.Counts{Waiting: 2, Degraded: 3,
		Runs:  map[controlplane.DeploymentStatus]int64{controlplane.Ready: 5},
		Nodes: map[controlplane.NodeStatus]int64{controlplane.NodeOnline: 7}}
	all := prometheus.NewRegistry()
	all.MustRegister(m)
	found, err := all.Gather()
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]float64{}
	for _, family := range found {
		for _, one := range family.GetMetric() {
			sums[family.GetName()] += one.GetGauge().GetValue()
		}
	}
	for name, want := range map[string]float64{"nullops_runs": 5, "nullops_nodes": 7,
		"nullops_queue_length": 2, "nullops_deployments_degraded": 3} {
		// promise: G-10
		if sums[name] != want {
			t.Errorf("%s is %v, want %v", name, sums[name], want)
		}
	}
}
