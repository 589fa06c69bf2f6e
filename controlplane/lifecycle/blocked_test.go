package lifecycle_test

import (
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/pipeline"
)

// A node where a check failed that deployments depend on is passed over, with
// that as the reason, however much room it has.
func TestPlace_PassesOverABlockedNode(t *testing.T) {
	roomy := lifecycle.Candidate{ID: "1", Name: "roomy", Enabled: true, Online: true, Trusted: true,
		CPU: 64, Memory: 64 << 30, DiskFree: 1 << 40, Labels: controlplane.Labels{},
		Blocked: "Deployments are not isolated."}
	small := roomy
	small.ID, small.Name, small.CPU, small.Memory, small.Blocked = "2", "small", 2, 4<<30, ""
	ask := lifecycle.ResourceRequest{
		Resources:  pipeline.Resources{CPU: 1, MemoryMiB: 64},
		LargestCPU: 1,
	}
	if got, _ := lifecycle.ChooseNode([]lifecycle.Candidate{roomy, small}, ask); got.Name != "small" {
		t.Errorf("placed on %q", got.Name)
	}
	_, refused := lifecycle.ChooseNode([]lifecycle.Candidate{roomy}, ask)
	if len(refused) != 1 || !strings.Contains(refused[0].Reason, "not isolated") {
		t.Errorf("refused %+v", refused)
	}
}
