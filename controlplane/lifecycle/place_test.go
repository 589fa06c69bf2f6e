package lifecycle_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/pipeline"
)

// Few keys and values, so that selectors often meet them.
func drawTerm(t *rapid.T, what string) string {
	return rapid.SampledFrom([]string{"zone", "zone=a", "zone=b", "ssd", "gpu", "gpu=x"}).Draw(t, what)
}

func drawTerms[T ~string](t *rapid.T, what string) []T {
	all := make([]T, rapid.IntRange(0, 2).Draw(t, what+" count"))
	for i := range all {
		all[i] = T(drawTerm(t, what))
	}
	return all
}

func newCandidate(t *rapid.T, i int) lifecycle.Candidate {
	n := lifecycle.Candidate{
		ID: fmt.Sprint(i), Name: fmt.Sprintf("node-%d", i),
		Enabled:         rapid.IntRange(0, 9).Draw(t, "enabled") > 0,
		Online:          rapid.IntRange(0, 9).Draw(t, "online") > 0,
		Trusted:         rapid.IntRange(0, 9).Draw(t, "trusted") > 0,
		CPU:             float64(rapid.IntRange(0, 8).Draw(t, "cpu")),
		Memory:          rapid.Int64Range(0, 16).Draw(t, "memory") << 30,
		DiskFree:        rapid.Int64Range(0, 4).Draw(t, "disk") << 30,
		AllocatedCPU:    float64(rapid.IntRange(0, 8).Draw(t, "allocated cpu")),
		AllocatedMemory: rapid.Int64Range(0, 8).Draw(t, "allocated memory") << 30,
		ForeignMemory:   rapid.Int64Range(0, 8).Draw(t, "foreign") << 30,
		UsedCPU:         float64(rapid.IntRange(0, 8).Draw(t, "used cpu")),
		Runs:            rapid.IntRange(0, 4).Draw(t, "runs"),
		Waiting:         max(0, rapid.IntRange(-3, 1).Draw(t, "waiting")),
		Busy:            rapid.IntRange(0, 9).Draw(t, "busy") == 0,
		NoSecrets:       rapid.IntRange(0, 9).Draw(t, "no secrets") == 0,
		Rules: controlplane.CapacityRules{
			CPUOvercommit: float64(rapid.IntRange(0, 3).Draw(t, "overcommit"))},
		Labels: controlplane.Labels{},
		Settings: controlplane.NodeSettings{
			RunLimit:     rapid.IntRange(0, 4).Draw(t, "run limit"),
			DiskFloorMiB: rapid.IntRange(0, 3).Draw(t, "floor") << 10,
			Priority:     rapid.IntRange(0, 2).Draw(t, "priority"),
		},
	}
	for _, label := range drawTerms[string](t, "label") {
		key, value, _ := strings.Cut(label, "=")
		n.Labels[key] = value
	}
	for _, taint := range drawTerms[string](t, "taint") {
		key, value, _ := strings.Cut(taint, "=")
		n.Settings.Taints = append(n.Settings.Taints, controlplane.Taint{Key: key, Value: value,
			Effect: rapid.SampledFrom([]controlplane.TaintEffect{controlplane.NoSchedule,
				controlplane.PreferNoSchedule}).Draw(t, "effect")})
	}
	for g := range rapid.IntRange(0, 3).Draw(t, "gpus") {
		id := fmt.Sprint(g)
		n.GPUs = append(n.GPUs, controlplane.GPU{ID: id,
			Memory: rapid.Int64Range(1, 4).Draw(t, "gpu memory") << 30})
		if rapid.Bool().Draw(t, "taken") {
			n.Taken = append(n.Taken, id)
		}
	}
	n.AllocatedVRAM = rapid.Int64Range(0, 4).Draw(t, "allocated vram") << 30
	n.Settings.RequireVRAMHint = rapid.IntRange(0, 4).Draw(t, "require hint") == 0
	return n
}

func anAsk(t *rapid.T) lifecycle.ResourceRequest {
	ask := lifecycle.ResourceRequest{
		Resources: pipeline.Resources{CPU: float64(rapid.IntRange(0, 12).Draw(t, "ask cpu")),
			MemoryMiB: rapid.IntRange(0, 4).Draw(t, "ask memory") << 10},
		GPUs:      max(0, rapid.IntRange(-2, 2).Draw(t, "ask gpus")),
		GPUMemory: rapid.Int64Range(0, 3).Draw(t, "ask gpu memory") << 30,
		MayWait:   rapid.Bool().Draw(t, "may wait"),
		InMemory:  rapid.Bool().Draw(t, "in memory"),
		Required:  drawTerms[controlplane.Selector](t, "own required"),
		Placement: controlplane.Placement{
			Required:    drawTerms[controlplane.Selector](t, "required"),
			Forbidden:   drawTerms[controlplane.Selector](t, "forbidden"),
			Preferred:   drawTerms[controlplane.Selector](t, "preferred"),
			Tolerations: drawTerms[controlplane.Toleration](t, "tolerated"),
		},
	}
	if ask.GPUs > 0 {
		ask.VRAMMiB = rapid.IntRange(0, 6).Draw(t, "ask vram") << 10
		ask.NoVRAMHint = ask.VRAMMiB == 0
	}
	ask.LargestCPU = ask.CPU / 4
	return ask
}

func someNodes(t *rapid.T) []lifecycle.Candidate {
	nodes := make([]lifecycle.Candidate, rapid.IntRange(0, 6).Draw(t, "nodes"))
	for i := range nodes {
		nodes[i] = newCandidate(t, i)
	}
	return nodes
}

// canTake decides independently of the code under test whether a node can take a deployment.
func canTake(n lifecycle.Candidate, ask lifecycle.ResourceRequest) bool {
	floor := int64(cmp.Or(n.Settings.DiskFloorMiB, lifecycle.DiskFloor>>20)) << 20
	gpus, vram := 0, -n.AllocatedVRAM
	for _, g := range n.GPUs {
		vram += g.Memory
		if g.Memory >= ask.GPUMemory && !slices.Contains(n.Taken, g.ID) {
			gpus++
		}
	}
	ok := n.Enabled && n.Online && n.Trusted && n.CPU > 0 && n.Memory > 0 &&
		n.CPU >= ask.LargestCPU && n.CPU*n.Rules.Overcommit()-n.AllocatedCPU >= ask.CPU &&
		n.Memory-n.AllocatedMemory-n.ForeignMemory >= int64(ask.MemoryMiB)<<20 &&
		n.DiskFree >= floor && gpus >= ask.GPUs && n.Waiting == 0 &&
		(ask.MayWait || n.Settings.RunLimit == 0 || n.Runs < n.Settings.RunLimit)
	has := func(s controlplane.Selector) bool {
		key, value, exact := strings.Cut(string(s), "=")
		got, there := n.Labels[key]
		return there && (!exact || got == value)
	}
	ok = ok && !slices.ContainsFunc(ask.Placement.Forbidden, has)
	for _, s := range slices.Concat(ask.Required, ask.Placement.Required) {
		ok = ok && has(s)
	}
	ok = ok && (ask.VRAMMiB == 0 || vram >= int64(ask.VRAMMiB)<<20) &&
		!(ask.NoVRAMHint && n.Settings.RequireVRAMHint)
	ok = ok && !n.EngineDown && !n.Busy && !(n.NoSecrets && ask.InMemory)
	for _, taint := range n.Settings.Taints {
		ok = ok && (taint.Effect == controlplane.PreferNoSchedule ||
			slices.Contains(ask.Placement.Tolerations, controlplane.Toleration(taint.Key)) ||
			taint.Value != "" && slices.Contains(ask.Placement.Tolerations,
				controlplane.Toleration(taint.Key+"="+taint.Value)))
	}
	return ok
}

// A chosen node always has room and is allowed; a node that could take it is
// only left out for another that can; without one, each node has a reason.
func TestPlace_NeverOverbooks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes, ask := someNodes(t), anAsk(t)
		chosen, refused := lifecycle.ChooseNode(nodes, ask)
		if chosen.ID == "" {
			for _, n := range nodes {
				if canTake(n, ask) {
					t.Fatalf("%+v could take %+v; refused as %+v", n, ask, refused)
				}
			}
			for i, r := range refused {
				if r.Reason == "" || i > 0 && refused[i-1].Node >= r.Node {
					t.Fatalf("the table is %+v", refused)
				}
			}
			if len(refused) != len(nodes) {
				t.Fatalf("%d of %d nodes have a reason", len(refused), len(nodes))
			}
			return
		}
		// promise: N-130, N-131, B-17, B-21, B-22, B-23, B-24
		if !canTake(chosen, ask) {
			t.Fatalf("placed on %+v, asking %+v", chosen, ask)
		}
	})
}

// Whatever the order of the nodes, the choice is the same, and with nothing
// preferred it is the node with the most free memory.
func TestPlace_IsStableAndSpreads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes, ask := someNodes(t), anAsk(t)
		for i := range nodes {
			nodes[i].Settings.Priority, nodes[i].Settings.RunLimit = 0, 0
			nodes[i].Settings.Taints = nil
		}
		ask.Placement.Preferred = nil
		chosen, _ := lifecycle.ChooseNode(nodes, ask)
		again, _ := lifecycle.ChooseNode(rapid.Permutation(nodes).Draw(t, "other order"), ask)
		if chosen.ID != again.ID {
			t.Fatalf("%s, then %s", chosen.Name, again.Name)
		}
		free := func(n lifecycle.Candidate) int64 {
			return n.Memory - n.AllocatedMemory - n.ForeignMemory
		}
		busy := func(n lifecycle.Candidate) float64 { return max(n.AllocatedCPU, n.UsedCPU) }
		for _, n := range nodes {
			if chosen.ID == "" || n.ID == chosen.ID || !canTake(n, ask) {
				continue
			}
			if free(n) > free(chosen) || free(n) == free(chosen) && busy(n) < busy(chosen) ||
				free(n) == free(chosen) && busy(n) == busy(chosen) && n.Name < chosen.Name {
				t.Fatalf("%+v instead of %+v", chosen, n)
			}
		}
	})
}

func roomyCandidate(name string) lifecycle.Candidate {
	return lifecycle.Candidate{ID: name, Name: name, Enabled: true, Online: true, Trusted: true,
		CPU: 4, Memory: 8 << 30, DiskFree: 9 << 30, Labels: controlplane.Labels{}}
}

func newSmallRequest() lifecycle.ResourceRequest {
	return lifecycle.ResourceRequest{
		Resources:  pipeline.Resources{CPU: 1, MemoryMiB: 512},
		LargestCPU: 1,
	}
}

// Each reason against a node is a sentence that names what to change.
func TestPlace_SaysWhy(t *testing.T) {
	for why, c := range map[string]struct {
		change func(*lifecycle.Candidate, *lifecycle.ResourceRequest)
		says   string
	}{
		"not ours": {func(n *lifecycle.Candidate, _ *lifecycle.ResourceRequest) {
			n.ForeignMemory = n.Memory - 200<<20
		}, "not ours"},
		"disabled": {func(n *lifecycle.Candidate, _ *lifecycle.ResourceRequest) { n.Enabled = false },
			"disabled"},
		"offline": {func(n *lifecycle.Candidate, _ *lifecycle.ResourceRequest) { n.Online = false },
			"offline"},
		"untrusted": {func(n *lifecycle.Candidate, _ *lifecycle.ResourceRequest) { n.Trusted = false },
			"certificate"},
		"unknown": {func(n *lifecycle.Candidate, _ *lifecycle.ResourceRequest) { n.CPU = 0 },
			"not reported its size"},
		"no engine": {func(n *lifecycle.Candidate, _ *lifecycle.ResourceRequest) { n.EngineDown = true },
			"engine does not answer"},
		"no engine, and too small": {func(n *lifecycle.Candidate, a *lifecycle.ResourceRequest) {
			n.EngineDown, a.LargestCPU = true, 99
		}, "One service asks for 99 cores"},
		"disk": {func(n *lifecycle.Candidate, _ *lifecycle.ResourceRequest) {
			n.Settings.DiskFloorMiB = 10 << 10
		}, "11 GB"},
		"label": {func(_ *lifecycle.Candidate, a *lifecycle.ResourceRequest) {
			a.Placement.Required = []controlplane.Selector{"zone=fra"}
		}, "no label zone=fra"},
		"forbidden": {func(n *lifecycle.Candidate, a *lifecycle.ResourceRequest) {
			n.Labels["spot"] = ""
			a.Placement.Forbidden = []controlplane.Selector{"spot"}
		}, "label spot, which is forbidden"},
		"taint": {func(n *lifecycle.Candidate, _ *lifecycle.ResourceRequest) {
			n.Settings.Taints = []controlplane.Taint{{Key: "old", Value: "yes",
				Effect: controlplane.NoSchedule}}
		}, "taint old=yes, which neither the project nor the environment tolerates"},
		"runs": {func(n *lifecycle.Candidate, _ *lifecycle.ResourceRequest) {
			n.Settings.RunLimit, n.Runs = 2, 2
		}, "takes 2 runs at a time and has 2"},
		"no GPU": {func(_ *lifecycle.Candidate, a *lifecycle.ResourceRequest) { a.GPUs = 1 }, "0 GPUs"},
		"small GPU": {func(n *lifecycle.Candidate, a *lifecycle.ResourceRequest) {
			n.GPUs = []controlplane.GPU{{ID: "0", Memory: 8 << 30}}
			a.GPUs, a.GPUMemory = 1, 24<<30
		}, "0 GPUs of 26 GB or more"},
		"taken GPU": {func(n *lifecycle.Candidate, a *lifecycle.ResourceRequest) {
			n.GPUs, n.Taken = []controlplane.GPU{{ID: "0", Memory: 8 << 30}}, []string{"0"}
			a.GPUIDs = []string{"0"}
		}, "GPU 0 is not free"},
		"one large service": {func(_ *lifecycle.Candidate, a *lifecycle.ResourceRequest) {
			a.LargestCPU = 8
		}, "One service asks for 8 cores"},
		"busy": {func(n *lifecycle.Candidate, _ *lifecycle.ResourceRequest) { n.Busy = true },
			"It is busy: for 5 minutes, at least 90 % of its CPU"},
		"stale figures": {func(n *lifecycle.Candidate, _ *lifecycle.ResourceRequest) { n.Stale = true },
			"It has not reported what it uses"},
		"overcommit": {func(n *lifecycle.Candidate, a *lifecycle.ResourceRequest) {
			n.Rules.CPUOvercommit = 0.5
			n.AllocatedCPU = n.CPU/2 - a.CPU + 0.1
		}, "0.1 cores short"},
		"secrets": {func(n *lifecycle.Candidate, a *lifecycle.ResourceRequest) {
			n.NoSecrets, a.InMemory = true, true
		}, "no folder in memory"},
		"own label": {func(_ *lifecycle.Candidate, a *lifecycle.ResourceRequest) {
			a.Required = []controlplane.Selector{"zone=lon"}
		}, "no label zone=lon"},
		"GPU memory": {func(n *lifecycle.Candidate, a *lifecycle.ResourceRequest) {
			n.GPUs = []controlplane.GPU{{ID: "0", Memory: 8 << 30}, {ID: "1", Memory: 8 << 30}}
			n.Taken, n.AllocatedVRAM = []string{"0"}, 10<<30
			a.GPUs, a.VRAMMiB = 1, 7<<10
		}, "1.1 GB of GPU memory short: 11 GB of 17 GB"},
		"GPU memory unknown": {func(n *lifecycle.Candidate, a *lifecycle.ResourceRequest) {
			n.GPUs = []controlplane.GPU{{ID: "0", Memory: 8 << 30}}
			n.Settings.RequireVRAMHint, a.GPUs, a.NoVRAMHint = true, 1, true
		}, "vram_mib"},
		"others wait": {func(n *lifecycle.Candidate, _ *lifecycle.ResourceRequest) { n.Waiting = 2 },
			"2 deployments wait for room on it already"},
	} {
		t.Run(strings.ReplaceAll(why, " ", "-"), func(t *testing.T) {
			n, ask := roomyCandidate("fra-01"), newSmallRequest()
			if fit, refused := lifecycle.ChooseNode([]lifecycle.Candidate{n}, ask); fit.ID == "" {
				t.Fatalf("refused before: %+v", refused)
			}
			c.change(&n, &ask)
			_, refused := lifecycle.ChooseNode([]lifecycle.Candidate{n}, ask)
			// promise: N-131
			if len(refused) != 1 || !strings.Contains(refused[0].Reason, c.says) {
				t.Fatalf("%+v does not say %q", refused, c.says)
			}
		})
	}
}

// A node's capability is a label with a value, such as render=2.1.0. A deployment that requires one
// is never placed on a node with another version, several versions, or none.
func TestPlace_ExactCapability(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		versions := []string{"", "2.1.0", "2.1.1", "2.1", "2.1.0-rc1", "12.1.0"}
		var all []lifecycle.Candidate
		for i := range rapid.IntRange(1, 6).Draw(t, "nodes") {
			n := roomyCandidate(fmt.Sprintf("node-%d", i))
			n.Labels = controlplane.Labels{"kind": "gpu", "Render": "2.1.0"}
			if rapid.Bool().Draw(t, "can render") {
				n.Labels["render"] = rapid.SampledFrom(versions).Draw(t, "version")
			}
			n.Memory += rapid.Int64Range(0, 8).Draw(t, "more memory") << 30
			all = append(all, n)
		}
		ask := newSmallRequest()
		ask.Placement.Required = []controlplane.Selector{"render=2.1.0"}
		exact := slices.ContainsFunc(all, func(n lifecycle.Candidate) bool {
			return n.Labels["render"] == "2.1.0"
		})
		got, refused := lifecycle.ChooseNode(all, ask)
		// promise: B-20
		if exact != (got.ID != "") || exact && got.Labels["render"] != "2.1.0" {
			t.Fatalf("of %+v, %q was chosen", all, got.Name)
		}
		// promise: B-20
		if !exact && (len(refused) != len(all) ||
			!strings.Contains(refused[0].Reason, "no label render=2.1.0")) {
			t.Fatalf("refused: %+v", refused)
		}
	})
}

// Among equal nodes the least loaded is first, so deployments alternate. A preferred label counts
// more than both.
func TestPlace_TakesTurns(t *testing.T) {
	all := []lifecycle.Candidate{roomyCandidate("a"), roomyCandidate("b"), roomyCandidate("c")}
	all[0].UsedCPU, all[1].UsedCPU, all[2].UsedCPU = 1, 2, 0.5
	// promise: B-25
	if got, _ := lifecycle.ChooseNode(all, newSmallRequest()); got.Name != "c" {
		t.Errorf("the least loaded is c, not %s", got.Name)
	}
	all[0].UsedCPU, all[1].UsedCPU, all[2].UsedCPU = 0, 0, 0
	order := ""
	for range 6 {
		got, _ := lifecycle.ChooseNode(all, newSmallRequest())
		order += got.Name
		i := slices.IndexFunc(all, func(n lifecycle.Candidate) bool { return n.Name == got.Name })
		all[i].AllocatedCPU += newSmallRequest().CPU
		all[i].AllocatedMemory += int64(newSmallRequest().MemoryMiB) << 20
	}
	// promise: B-25
	if order != "abcabc" {
		t.Errorf("six deployments went to %s", order)
	}
	all[0].Labels["model"] = "warm"
	all[0].UsedCPU, all[0].AllocatedMemory = 3, all[0].AllocatedMemory+1<<30
	ask := newSmallRequest()
	ask.Placement.Preferred = []controlplane.Selector{"model=warm"}
	// promise: B-25
	if got, _ := lifecycle.ChooseNode(all, ask); got.Name != "a" {
		t.Errorf("with the preferred label elsewhere, it went to %s", got.Name)
	}
}

// What is preferred decides before room does, and never refuses.
func TestPlace_Prefers(t *testing.T) {
	near, far, avoided := roomyCandidate("near"), roomyCandidate("far"), roomyCandidate("avoided")
	near.Labels["zone"], near.AllocatedMemory = "fra", 6<<30
	avoided.Memory = 32 << 30
	avoided.Settings.Taints = []controlplane.Taint{{Key: "slow",
		Effect: controlplane.PreferNoSchedule}}
	all := []lifecycle.Candidate{far, near, avoided}
	ask := newSmallRequest()
	ask.Placement.Preferred = []controlplane.Selector{"zone=fra"}
	// promise: B-22
	if got, _ := lifecycle.ChooseNode(all, ask); got.Name != "near" {
		t.Errorf("preferred label: %s", got.Name)
	}
	// promise: B-23
	if got, _ := lifecycle.ChooseNode(all, newSmallRequest()); got.Name != "far" {
		t.Errorf("soft taint: %s", got.Name)
	}
	if got, _ := lifecycle.ChooseNode(all[2:], newSmallRequest()); got.Name != "avoided" {
		t.Errorf("only a softly tainted node: %q", got.Name)
	}
	ask.Placement = controlplane.Placement{Tolerations: []controlplane.Toleration{"*"}}
	// promise: B-23
	if got, _ := lifecycle.ChooseNode(all, ask); got.Name != "avoided" {
		t.Errorf("tolerated: %s", got.Name)
	}
	far.Settings.Priority = 200
	near.Settings.Priority = 10
	got, _ := lifecycle.ChooseNode([]lifecycle.Candidate{far, near}, newSmallRequest())
	if got.Name != "near" {
		t.Errorf("priority of nodes: %s", got.Name)
	}
}
