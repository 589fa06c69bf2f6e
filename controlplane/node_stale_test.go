package controlplane_test

import (
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
)

// Placement decides by figures while they are promised to be right, and for two minutes more.
func TestNodeVitals_AreStaleWhenTheirReportIsOverdue(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, c := range []struct {
		name   string
		vitals *controlplane.NodeVitals
		want   bool
	}{
		{"none yet", nil, false},
		{"an older agent's", &controlplane.NodeVitals{At: now.Add(-2 * time.Minute)}, false},
		{"an older agent's that stopped", &controlplane.NodeVitals{At: now.Add(-3 * time.Minute)}, true},
		{"at rest", &controlplane.NodeVitals{At: now.Add(-3 * time.Minute), Within: 70}, false},
		{"overdue", &controlplane.NodeVitals{At: now.Add(-4 * time.Minute), Within: 70}, true},
	} {
		if got := c.vitals.IsStale(now); got != c.want {
			t.Errorf("%s: stale is %v", c.name, got)
		}
	}
}
