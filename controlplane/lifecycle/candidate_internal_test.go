package lifecycle

import (
	"slices"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/pipeline"
)

// One service with files or secrets is enough to need a folder in memory, whichever it is.
func TestResourceRequest_KeepsSecretsInMemory(t *testing.T) {
	t.Parallel()
	plain := pipeline.ServiceStep{Env: map[string]string{"A": "b"}}
	files := pipeline.ServiceStep{Files: []pipeline.File{{Path: "/etc/a"}}}
	secret := pipeline.ServiceStep{Env: map[string]string{"A": "${{ secrets.key }}"}}
	for name, c := range map[string]struct {
		services []pipeline.ServiceStep
		want     bool
	}{
		"none":     {[]pipeline.ServiceStep{plain, plain}, false},
		"a file":   {[]pipeline.ServiceStep{files}, true},
		"a secret": {[]pipeline.ServiceStep{secret}, true},
		"first":    {[]pipeline.ServiceStep{secret, plain}, true},
		"last":     {[]pipeline.ServiceStep{plain, files}, true},
	} {
		var p pipeline.Pipeline
		for i := range c.services {
			p.Steps = append(p.Steps, pipeline.Step{Key: pipeline.StepKey(string(rune('a' + i))),
				Service: &c.services[i]})
		}
		if got := resourceRequest(p, controlplane.Placement{}).InMemory; got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// What the database and the agent say of a node is what placement counts with.
func TestNewCandidate_CountsInBytes(t *testing.T) {
	t.Parallel()
	n := postgres.PlacementNode{Node: controlplane.Node{ID: "n", Name: "node",
		Status: controlplane.NodeOnline, Inventory: &controlplane.Inventory{CPU: 4, Memory: 8 << 30,
			Disk: 5 << 30, Arch: "x86_64", Subnets: 31}},
		Reserved:   pipeline.Resources{CPU: 1.5, MemoryMiB: 3},
		MemoryUsed: 100, VRAMMiB: 2, GPUs: []string{"a"}, Deployments: 6, Runs: 1, Queued: 2}
	c := newCandidate(n)
	if c.AllocatedCPU != 1.5 || c.AllocatedMemory != 3<<20 || c.AllocatedVRAM != 2<<20 ||
		c.CPU != 4 || c.Memory != 8<<30 || c.DiskFree != 5<<30 || c.Arch != "amd64" ||
		c.Subnets != 31 || c.Deployments != 6 || c.Runs != 1 || c.Queued != 2 ||
		!slices.Equal(c.Taken, []string{"a"}) || !c.Online || !c.Enabled || !c.Trusted ||
		c.Draining || c.EngineDown || c.ForeignMemory != 0 {
		t.Errorf("before it was measured: %+v", c)
	}
	// Of what is used, what is ours is reserved already.
	for ours, foreign := range map[int64]int64{0: 900, 300: 700, 1000: 0, 2000: 0} {
		n.Node.Vitals = &controlplane.NodeVitals{DiskFree: 7, CPU: 0.5, MemoryUsed: 1000,
			MemoryOurs: ours}
		c = newCandidate(n)
		if c.ForeignMemory != foreign || c.DiskFree != 7 || c.UsedCPU != 0.5 {
			t.Errorf("with %d of ours: %+v", ours, c)
		}
	}
	for status, want := range map[controlplane.NodeStatus][3]bool{
		controlplane.NodeOffline: {true, false, true}, controlplane.NodeUntrusted: {true, false, false},
		controlplane.NodeDisabled: {false, false, true}, controlplane.NodeOnline: {true, true, true},
	} {
		n.Node.Status = status
		if c = newCandidate(n); [3]bool{c.Enabled, c.Online, c.Trusted} != want {
			t.Errorf("%s: enabled, online, trusted are %v, %v, %v", status, c.Enabled, c.Online, c.Trusted)
		}
	}
}

// A node that is short of one byte of GPU memory is, and one without a folder for secrets takes
// what has none.
func TestRefusalReason_IsExact(t *testing.T) {
	t.Parallel()
	n := roomyNode("n")
	n.GPUs = []controlplane.GPU{{ID: "a", Memory: 4<<30 - 1}}
	n.AllocatedVRAM = 3 << 30
	ask := smallRequest()
	ask.VRAMMiB = 1024
	if got := refusalReason(n, ask); !strings.Contains(got, "of GPU memory short") {
		t.Errorf("one byte short: %q", got)
	}
	ask.VRAMMiB, n.AllocatedVRAM = 1, 4<<30-1
	if got := refusalReason(n, ask); !strings.Contains(got, "of GPU memory short") {
		t.Errorf("one MiB of what is promised already: %q", got)
	}
	n = roomyNode("n")
	n.NoSecrets = true
	if got := refusalReason(n, smallRequest()); got != "" {
		t.Errorf("without secrets: %q", got)
	}
	for _, c := range []struct{ taken, memory, want string }{
		{"one", "", "It has 1 GPU free; 2 asked for."},
		{"", "", ""}, {"", "2 GiB", "It has 1 GPU of 2.1 GB or more; 2 asked for."},
	} {
		n.GPUs = []controlplane.GPU{{ID: "one", Memory: 1 << 30}, {ID: "two", Memory: 2 << 30}}
		n.Taken, ask = []string{c.taken}, smallRequest()
		ask.GPUs = 2
		if c.memory != "" {
			ask.GPUMemory = 2 << 30
		}
		if got := refusalReason(n, ask); got != c.want {
			t.Errorf("%q taken, %q each: %q", c.taken, c.memory, got)
		}
	}
}
