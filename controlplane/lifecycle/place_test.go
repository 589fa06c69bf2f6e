package lifecycle_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/pipeline"
)

func candidate(t *rapid.T, i int) lifecycle.Candidate {
	return lifecycle.Candidate{
		ID: fmt.Sprint(i), Name: fmt.Sprintf("node-%d", i),
		Enabled:         rapid.Bool().Draw(t, "enabled"),
		Online:          rapid.Bool().Draw(t, "online"),
		Trusted:         rapid.Bool().Draw(t, "trusted"),
		CPU:             float64(rapid.IntRange(0, 8).Draw(t, "cpu")),
		Memory:          rapid.Int64Range(0, 16<<30).Draw(t, "memory"),
		DiskFree:        rapid.Int64Range(0, 4<<30).Draw(t, "disk"),
		AllocatedCPU:    float64(rapid.IntRange(0, 8).Draw(t, "allocated cpu")),
		AllocatedMemory: rapid.Int64Range(0, 16<<30).Draw(t, "allocated memory"),
		ForeignMemory:   rapid.Int64Range(0, 16<<30).Draw(t, "foreign"),
	}
}

// A chosen node always has room and is allowed; without one, each node has a
// reason.
func TestPlace_NeverOverbooks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var nodes []lifecycle.Candidate
		for i := range rapid.IntRange(0, 6).Draw(t, "nodes") {
			nodes = append(nodes, candidate(t, i))
		}
		ask := lifecycle.Ask{Resources: pipeline.Resources{
			CPU:       float64(rapid.IntRange(0, 40).Draw(t, "ask cpu")),
			MemoryMiB: rapid.IntRange(0, 8192).Draw(t, "ask memory"),
		}}
		ask.LargestCPU = ask.CPU / 4
		chosen, refused := lifecycle.Place(nodes, ask)
		if chosen.ID == "" {
			if len(refused) != len(nodes) {
				t.Fatalf("%d of %d nodes have a reason", len(refused), len(nodes))
			}
			return
		}
		left := chosen.Memory - chosen.AllocatedMemory - chosen.ForeignMemory
		if !chosen.Enabled || !chosen.Online || !chosen.Trusted ||
			chosen.CPU < ask.LargestCPU ||
			chosen.CPU*lifecycle.CPUOvercommit-chosen.AllocatedCPU < ask.CPU ||
			left < int64(ask.MemoryMiB)<<20 {
			t.Fatalf("placed on %+v, asking %+v", chosen, ask)
		}
	})
}

// A process that is not ours and eats the memory makes the node refuse.
func TestPlace_CountsForeignMemory(t *testing.T) {
	node := lifecycle.Candidate{Name: "fra-01", Enabled: true, Online: true, Trusted: true,
		CPU: 4, Memory: 4 << 30, DiskFree: 9 << 30, ForeignMemory: 3900 << 20}
	_, refused := lifecycle.Place([]lifecycle.Candidate{node},
		lifecycle.Ask{Resources: pipeline.Resources{CPU: 1, MemoryMiB: 512}})
	if len(refused) != 1 || !strings.Contains(refused[0].Reason, "not ours") {
		t.Fatalf("got %+v", refused)
	}
}
