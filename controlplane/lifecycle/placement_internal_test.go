package lifecycle

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/pipeline"
)

// roomyNode is a node that takes everything small.
func roomyNode(name string) Candidate {
	return Candidate{ID: name, Name: name, Enabled: true, Online: true, Trusted: true, CPU: 4,
		Memory: 8 << 30, DiskFree: 9 << 30, Labels: controlplane.Labels{}}
}

func smallRequest() ResourceRequest {
	return ResourceRequest{Resources: pipeline.Resources{CPU: 1, MemoryMiB: 512}, LargestCPU: 1}
}

// What services say of their GPUs is added up, and each GPU holds its share.
func TestResourceRequest_CountsGPUs(t *testing.T) {
	t.Parallel()
	service := func(key string, g *pipeline.GPUs) pipeline.Step {
		return pipeline.Step{Key: pipeline.StepKey(key), Service: &pipeline.ServiceStep{GPUs: g,
			Resources: pipeline.Resources{CPU: 1, MemoryMiB: 100}}}
	}
	for name, c := range map[string]struct {
		gpus   []*pipeline.GPUs
		count  int
		ids    []string
		vram   int
		memory int64 // MiB
		noHint bool
	}{
		"none":         {[]*pipeline.GPUs{nil}, 0, nil, 0, 0, false},
		"one":          {[]*pipeline.GPUs{{Count: 1, VRAMMiB: 100}}, 1, nil, 100, 100, false},
		"two share":    {[]*pipeline.GPUs{{Count: 2, VRAMMiB: 101}}, 2, nil, 101, 51, false},
		"exactly half": {[]*pipeline.GPUs{{Count: 2, VRAMMiB: 100}}, 2, nil, 100, 50, false},
		"by id": {[]*pipeline.GPUs{{DeviceIDs: []string{"b", "a"}, VRAMMiB: 10}}, 0,
			[]string{"a", "b"}, 10, 5, false},
		"two services": {[]*pipeline.GPUs{{Count: 1, VRAMMiB: 10}, {Count: 2, VRAMMiB: 60}}, 3, nil, 70,
			30, false},
		"no hint": {[]*pipeline.GPUs{{Count: 1}, {Count: 1, VRAMMiB: 7}}, 2, nil, 7, 7, true},
		"one id twice": {[]*pipeline.GPUs{{DeviceIDs: []string{"a"}, VRAMMiB: 1},
			{DeviceIDs: []string{"a"}, VRAMMiB: 1}},
			0, []string{"a"}, 2, 1, false},
	} {
		var p pipeline.Pipeline
		for i, g := range c.gpus {
			p.Steps = append(p.Steps, service(string(rune('a'+i)), g))
		}
		r := resourceRequest(p, controlplane.Placement{})
		if r.GPUs != c.count || !slices.Equal(r.GPUIDs, c.ids) || r.VRAMMiB != c.vram ||
			r.GPUMemory != c.memory<<20 || r.NoVRAMHint != c.noHint || r.LargestCPU != 1 {
			t.Errorf("%s: %+v", name, r)
		}
	}
	on := controlplane.Placement{GPUMemoryMiB: 9}
	if r := resourceRequest(pipeline.Pipeline{}, on); r.GPUMemory != 9<<20 {
		t.Errorf("a project's own floor is %d", r.GPUMemory)
	}
}

// A reservation is what a node has less of, and taking it back leaves the node as it was.
func TestWithReservation_IsTakenBack(t *testing.T) {
	t.Parallel()
	n := roomyNode("n")
	n.GPUs = []controlplane.GPU{{ID: "large", Memory: 8 << 30}, {ID: "small", Memory: 4 << 30}}
	ask := smallRequest()
	ask.GPUs, ask.VRAMMiB = 1, 1024
	after := withReservation(n, ask)
	if after.AllocatedCPU != 1 || after.AllocatedMemory != 512<<20 || after.Runs != 1 ||
		after.AllocatedVRAM != 1<<30 || !slices.Equal(after.Taken, []string{"small"}) {
		t.Errorf("reserved are %+v", after)
	}
	after.Deployments = 1
	back := withoutReservation(after, QueuedRun{Ask: ask,
		Offer: &PendingOffer{GPUs: []string{"small"}}})
	if back.AllocatedCPU != 0 || back.AllocatedMemory != 0 || back.AllocatedVRAM != 0 ||
		back.Runs != 0 || back.Deployments != 0 || len(back.Taken) != 0 {
		t.Errorf("taken back, it is %+v", back)
	}
}

// Memory of GPUs is promised once: what is short is said, and exactly enough is enough.
func TestRefusalReason_CountsGPUMemory(t *testing.T) {
	t.Parallel()
	n := roomyNode("n")
	n.GPUs = []controlplane.GPU{{ID: "a", Memory: 4 << 30}, {ID: "b", Memory: 4 << 30}}
	ask := smallRequest()
	for _, c := range []struct {
		asks, allocated int // MiB
		want            string
	}{
		{8192, 0, ""}, {8193, 0, "of GPU memory and the node has"}, {1024, 7168, ""},
		{1025, 7168, "of GPU memory short"}, {0, 9000, ""},
	} {
		ask.VRAMMiB, n.AllocatedVRAM = c.asks, int64(c.allocated)<<20
		if got := refusalReason(n, ask); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%d MiB beside %d: %q", c.asks, c.allocated, got)
		}
	}
	ask = smallRequest()
	ask.MemoryMiB = 8192
	if got := refusalReason(n, ask); got != "" {
		t.Errorf("all of its memory: %q", got)
	}
	ask = smallRequest()
	ask.GPUIDs = []string{"a"}
	for taken, fits := range map[string]bool{"": true, "b": true, "a": false} {
		n.Taken, n.AllocatedVRAM = []string{taken}, 0
		if got := refusalReason(n, ask); (got == "") != fits {
			t.Errorf("with %q taken: %q", taken, got)
		}
	}
	ask.GPUIDs = []string{"b", "a"}
	n.Taken = nil
	if ids, why := gpusOf(n, ask, nil); why != "" || !slices.Equal(ids, []string{"b", "a"}) {
		t.Errorf("both are %v, %q", ids, why)
	}
	n.Settings.DiskFloorMiB, n.DiskFree = 1, 1<<20
	if got := refusalReason(n, smallRequest()); got != "" {
		t.Errorf("exactly its floor of disk: %q", got)
	}
	n.Settings.DiskFloorMiB, n.DiskFree = 0, DiskFloor
	if got := refusalReason(n, smallRequest()); got != "" {
		t.Errorf("exactly the usual floor of disk: %q", got)
	}
	if n.DiskFree--; refusalReason(n, smallRequest()) == "" {
		t.Error("less than the usual floor is enough")
	}
}

// "No room" is said when it is final, and what ends by itself is said as such.
func TestNoRoom_SaysWhetherToTryAgain(t *testing.T) {
	t.Parallel()
	full := NodeRefusal{Node: "n", Reason: "0.5 cores short.", CPUFree: 0.5}
	off := NodeRefusal{Node: "o", Reason: reasonOffline}
	for name, c := range map[string]struct {
		refused []NodeRefusal
		gpus    int
		code    string
		kind    controlplane.Kind
		words   string
		retry   bool
	}{
		"full": {[]NodeRefusal{full}, 0, "no_room", controlplane.Exhausted,
			"asks for 1 core and 537 MB of memory", false},
		"GPUs": {[]NodeRefusal{full}, 1, "no_room", controlplane.Exhausted,
			"1 core and 537 MB of memory and 1 GPU", false},
		"no nodes": {nil, 0, "no_room", controlplane.Exhausted, "the environment has no nodes",
			false},
		"offline": {[]NodeRefusal{off, off}, 0, "node_offline", controlplane.Unavailable,
			"all nodes", true},
		"one offline": {[]NodeRefusal{full, off}, 0, "no_room", controlplane.Exhausted,
			"no node has room", false},
		"no size": {[]NodeRefusal{full, {Node: "s", Reason: reasonNoSize}}, 0, "node_not_ready",
			controlplane.Unavailable, "Node s has connected", true},
		"no engine": {[]NodeRefusal{{Node: "e", Reason: reasonNoEngine}}, 0, "node_not_ready",
			controlplane.Unavailable, "engine of node e", true},
		"declined by one": {[]NodeRefusal{full, {Node: "d", Reason: declinedPrefix + ": no"}}, 0,
			"no_room", controlplane.Exhausted, "no node takes this deployment", false},
	} {
		ask := smallRequest()
		ask.GPUs = c.gpus
		err := noRoom(ask, c.refused)
		e, ok := errors.AsType[*controlplane.Error](err)
		if !ok || e.Code != c.code || e.Kind != c.kind || !strings.Contains(e.Message, c.words) ||
			e.Remedy == "" || (e.RetryAfter > 0) != c.retry ||
			c.gpus == 0 && strings.Contains(e.Message, "GPU") {
			t.Errorf("%s: %+v", name, err)
		}
		if c.code != "node_not_ready" && len(e.Placement) != len(c.refused) {
			t.Errorf("%s: the table is %+v", name, e.Placement)
		}
		for i, r := range e.Placement {
			if (r.CPUFree != nil) != (c.refused[i].CPUFree > 0) {
				t.Errorf("%s: of %s is free %v", name, r.Node, r.CPUFree)
			}
		}
	}
	if !isTransientReason(reasonNoSize) || !isTransientReason(reasonNoEngine) ||
		isTransientReason(reasonOffline) {
		t.Error("the wrong reasons are transient")
	}
}

// The line for people who wait names one node, and one that declined before all others.
func TestWaitsForRoom_NamesOneNode(t *testing.T) {
	t.Parallel()
	full := NodeRefusal{Node: "n", Reason: "full."}
	declined := NodeRefusal{Node: "d", Reason: declinedPrefix + "."}
	for want, refused := range map[string][]NodeRefusal{
		"": nil, "The environment has no nodes.": {}, "n: full.": {full},
		"No node has room; n: full.":        {full, full},
		"No node takes it; d: It declined.": {declined, full},
		"No node takes it; d: It declined":  nil,
	} {
		if got := waitsForRoom(refused); got != want && (refused != nil || got != "") {
			t.Errorf("%+v is %q", refused, got)
		}
	}
	if got := waitsForRoom([]NodeRefusal{full, declined}); got != "No node takes it; d: It declined." {
		t.Errorf("a decline at the end is %q", got)
	}
}

// A check of room tells disk, address ranges and everything else apart.
func TestCheckRoom_TellsWhatIsShort(t *testing.T) {
	t.Parallel()
	edit := func(change func(n *Candidate)) Candidate {
		n := roomyNode("n")
		change(&n)
		return n
	}
	disk := func(n *Candidate) { n.DiskFree = 0 }
	address := func(n *Candidate) { n.Subnets, n.Deployments = 1, 1 }
	memory := func(n *Candidate) { n.AllocatedMemory = n.Memory }
	for name, c := range map[string]struct {
		nodes  []Candidate
		wait   bool
		states string // capacity, address, disk
		words  string
	}{
		"room":    {[]Candidate{roomyNode("n")}, false, "ok ok ok", "Node n has room."},
		"no disk": {[]Candidate{edit(disk)}, false, "ok ok failed", "No node has enough disk free"},
		"no address": {[]Candidate{edit(address)}, false, "ok failed ok",
			"No node has an address range free"},
		"no memory": {[]Candidate{edit(memory)}, false, "failed", "No node has room"},
		"it may wait": {[]Candidate{edit(memory)}, true, "unknown",
			"No node has room now; it would wait."},
		"it would wait for ever": {[]Candidate{edit(func(n *Candidate) { n.Enabled = false })}, true,
			"failed", "It is disabled"},
		"it is asked": {[]Candidate{edit(func(n *Candidate) { n.Settings.Reactive = true })}, false,
			"ok ok ok", "would be asked whether it takes it"},
	} {
		var found checks
		if err := checkRoom(c.nodes, smallRequest(), c.wait, relief{}, &found); err != nil {
			t.Fatal(err)
		}
		var states, words []string
		for _, one := range found.all {
			states = append(states, string(one.State))
			words = append(words, one.Message)
		}
		failed := strings.Contains(c.states, "failed")
		if strings.Join(states, " ") != c.states || !strings.Contains(strings.Join(words, " "),
			c.words) ||
			found.hasFailed("disk", "capacity", "address") != failed ||
			(found.refusalOr(nil) != nil) != failed {
			t.Errorf("%s: %q, %q", name, states, words)
		}
	}
}

// The table has a row for each node; free is never less than nothing.
func TestPlacementTable_HasEachNode(t *testing.T) {
	t.Parallel()
	full, asked := roomyNode("full"), roomyNode("asked")
	full.AllocatedCPU = 17
	asked.Settings.Reactive = true
	both := full
	both.Name, both.Settings.Reactive = "both", true
	rows := placementTable([]Candidate{roomyNode("n"), full, asked, both}, smallRequest())
	for i, want := range []NodeRefusal{
		{Node: "n", CPUFree: 16, MemoryFree: 8 << 30},
		{Node: "full", Reason: "2 cores short.", MemoryFree: 8 << 30},
		{Node: "asked", CPUFree: 16, MemoryFree: 8 << 30, Asks: true},
		{Node: "both", Reason: "2 cores short.", MemoryFree: 8 << 30},
	} {
		if rows[i] != want {
			t.Errorf("got %+v, want %+v", rows[i], want)
		}
	}
}

// A check keeps the first refusal, and an error that is none of ours ends the checks.
func TestChecks_KeepTheFirstRefusal(t *testing.T) {
	t.Parallel()
	var c checks
	first := &controlplane.Error{Code: "one", Field: "f", Message: "no", Remedy: "r"}
	second := &controlplane.Error{Code: "two", Message: "no."}
	other := errors.New("no database")
	if c.refusalOr(other) != other {
		t.Error("the end of the checks is lost")
	}
	for _, err := range []error{nil, first, second} {
		if err := c.record("id", "subject", "fine", err); err != nil {
			t.Error(err)
		}
	}
	if err := c.record("id", "", "", other); err != other {
		t.Errorf("another error becomes %v", err)
	}
	want := []Check{{ID: "id", Subject: "subject", State: CheckOK, Message: "fine"},
		{ID: "id", Subject: "subject", State: CheckFailed, Code: "one", Field: "f", Message: "No.",
			Remedy: "r"},
		{ID: "id", Subject: "subject", State: CheckFailed, Code: "two", Message: "No."}}
	if !slices.Equal(c.all, want) || c.refusalOr(other) != first || endSentence("") != "" {
		t.Errorf("%+v", c.all)
	}
	for code, want := range map[string]string{"registry_down": "registry", "x": "tag"} {
		if got := problemCheck(&controlplane.Error{Code: code}, ""); got != want {
			t.Errorf("%s belongs to %s", code, got)
		}
	}
	if got := problemCheck(other, "platform"); got != "platform" {
		t.Errorf("another error belongs to %s", got)
	}
}

// A deployment gets its node and the GPUs that are free there; without a node it has none.
func TestAssignNode(t *testing.T) {
	t.Parallel()
	n := roomyNode("n")
	n.GPUs = []controlplane.GPU{{ID: "a", Memory: 1 << 30}, {ID: "b", Memory: 2 << 30}}
	n.Taken = []string{"a"}
	p := plan{ask: smallRequest(), pipeline: pipeline.Pipeline{Steps: []pipeline.Step{{Key: "web",
		Service: &pipeline.ServiceStep{GPUs: &pipeline.GPUs{Count: 1, VRAMMiB: 5}}}}}}
	p.ask.GPUs, p.ask.VRAMMiB = 1, 5
	var d controlplane.Deployment
	assignNode(&d, &p, n)
	g := p.pipeline.Steps[0].Service.GPUs
	if d.NodeID != "n" || d.Node != "n" || !slices.Equal(d.GPUs, []string{"b"}) || *d.VRAMMiB != 5 ||
		d.Resources != p.ask.Resources || !slices.Equal(g.DeviceIDs, []string{"b"}) || g.Count != 0 {
		t.Errorf("%+v, %+v", d, g)
	}
	assignNode(&d, &p, Candidate{})
	if d.NodeID != "" || d.GPUs != nil {
		t.Errorf("without a node: %+v", d)
	}
	if short := shortOf([]Candidate{n}, ResourceRequest{LargestCPU: math.Inf(1)}); short != "" {
		t.Errorf("a node that is too small is short of %s", short)
	}
}

// A node that is only busy, or at its run limit, becomes free without anybody's doing. The remedy
// says that first, and names no queue to what moves and keeps its place meanwhile.
func TestNoRoom_SaysThatBusyPasses(t *testing.T) {
	t.Parallel()
	const more = "Remove a deployment, or ask an admin to add a node."
	const wait = "let the deployment wait for room, or try again later."
	for _, c := range []struct{ class, reason, avoid, want string }{
		{"memory", "No.", "", more},
		{"busy", "No.", "", "A busy node becomes free by itself: " + wait + " " + more},
		{"runs", "No.", "", "A busy node becomes free by itself: " + wait + " " + more},
		{"busy", "No.", "b", "A busy node becomes free by itself: try again later. " + more},
		{"offline", reasonNoEngine, "", "The node can take it once the engine runs: " + wait +
			" An admin finds the reason in the node's checks."},
		{"offline", reasonNoEngine, "b", "The node can take it once the engine runs: try again " +
			"later. An admin finds the reason in the node's checks."},
		{"", declinedPrefix + ": no", "", "The nodes' reasons say what to change; or " + wait},
		{"", declinedPrefix + ": no", "b", "The nodes' reasons say what to change; or try again " +
			"later."},
	} {
		err := noRoom(ResourceRequest{Avoid: c.avoid},
			[]NodeRefusal{{Node: "a", Reason: c.reason, Class: c.class}})
		said, ok := errors.AsType[*controlplane.Error](err)
		if !ok {
			t.Fatal("it is no error for people")
		}
		if said.Remedy != c.want {
			t.Errorf("%s, moved away from %q: %q", c.class, c.avoid, said.Remedy)
		}
	}
}

// A node without a free address range has one when a deployment on it ends, which is not the same
// as a run that is over soon.
func TestRefusalClass_TellsAddressesFromRuns(t *testing.T) {
	t.Parallel()
	n := roomyNode("n")
	n.Subnets, n.Deployments = 1, 1
	if class := refusalClass(n, smallRequest()); class != "subnets" {
		t.Errorf("without an address range: %q, %q", class, refusalReason(n, smallRequest()))
	}
	n.Subnets, n.Waiting = 0, 1
	if class := refusalClass(n, smallRequest()); class != "runs" {
		t.Errorf("others wait: %q, %q", class, refusalReason(n, smallRequest()))
	}
}
