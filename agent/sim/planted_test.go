//go:build planted

package sim_test

import (
	"testing"

	"github.com/nullops/nullops/agent/sim"
)

// A simulator that misses a bug is a bug: each of those that can be planted is
// found within ten thousand worlds.
func TestSimulator_FindsPlantedBugs(t *testing.T) {
	if n := len(sim.Defects()); n < 10 {
		t.Fatalf("only %d bugs can be planted", n)
	}
	for _, defect := range sim.Defects() {
		t.Run(defect, func(t *testing.T) {
			for s := *first; s < *first+10_000; s++ {
				if r := sim.Run(s, sim.WithDefect(defect)); r.Err != nil {
					t.Logf("found after %d worlds: %v", s-*first+1, r.Err)
					return
				}
			}
			t.Error("not found in ten thousand worlds")
		})
	}
}
