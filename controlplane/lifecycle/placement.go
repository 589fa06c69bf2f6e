package lifecycle

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/internal/quantity"
	"github.com/nullops/nullops/pipeline"
)

// resourceRequest is what the services and jobs that run at the same time may use together:
// that is what is reserved. GPUs are not shared, so those of all of them count.
func resourceRequest(p pipeline.Pipeline, on controlplane.Placement) ResourceRequest {
	all := ResourceRequest{Placement: on, GPUMemory: int64(on.GPUMemoryMiB) << 20}
	peak := pipeline.PeakResources(p)
	all.CPU, all.MemoryMiB = peak.CPU, peak.MemoryMiB
	for _, s := range p.Steps {
		c := s.Container()
		if c == nil {
			continue
		}
		all.InMemory = all.InMemory || needsMemoryFolder(p, s)
		all.LargestCPU = max(all.LargestCPU, c.Resources.CPU)
		if g := c.GPUs; g != nil {
			all.GPUs += g.Count
			all.GPUIDs = append(all.GPUIDs, g.DeviceIDs...)
			all.addVRAM(*g)
		}
	}
	slices.Sort(all.GPUIDs)
	all.GPUIDs = slices.Compact(all.GPUIDs)
	return all
}

// addVRAM adds what one service says it uses of GPU memory. Each of its GPUs has to hold its
// share.
func (r *ResourceRequest) addVRAM(g pipeline.GPUs) {
	r.VRAMMiB += g.VRAMMiB
	r.NoVRAMHint = r.NoVRAMHint || g.VRAMMiB == 0
	n := max(1, g.Count+len(g.DeviceIDs))
	r.GPUMemory = max(r.GPUMemory, int64((g.VRAMMiB+n-1)/n)<<20)
}

// needsMemoryFolder reports whether a service or job starts with secrets or files. What a plugin
// adds to its outputs only while it runs is not known yet.
func needsMemoryFolder(p pipeline.Pipeline, s pipeline.Step) bool {
	if len(s.Container().Files) > 0 ||
		len(pipeline.SecretNames(pipeline.Pipeline{Steps: []pipeline.Step{s}})) > 0 {
		return true
	}
	for _, value := range s.Container().Env {
		t, err := pipeline.Parse(value)
		if err != nil {
			continue
		}
		for _, ref := range t.Refs() {
			from, _ := p.Step(ref.Key)
			declared := from.Declares()
			if ref.Scope == pipeline.ScopeSteps && declared != nil && declared.SecretOutput(ref.Name) {
				return true
			}
		}
	}
	return false
}

// withGPUs assigns the reserved GPUs to the services and jobs that ask for a number of them. An
// engine that chose by itself would choose the same for all.
func withGPUs(p pipeline.Pipeline, reserved []string) pipeline.Pipeline {
	free := slices.Clone(reserved)
	for _, s := range p.Steps {
		if c := s.Container(); c != nil && c.GPUs != nil {
			named := c.GPUs.DeviceIDs
			free = slices.DeleteFunc(free,
				func(id string) bool { return slices.Contains(named, id) })
		}
	}
	p.Steps = slices.Clone(p.Steps)
	for i, s := range p.Steps {
		c := s.Container()
		if c == nil || c.GPUs == nil || c.GPUs.Count == 0 {
			continue
		}
		n := min(c.GPUs.Count, len(free))
		given := &pipeline.GPUs{DeviceIDs: slices.Clone(free[:n]), VRAMMiB: c.GPUs.VRAMMiB}
		p.Steps[i] = s.WithContainer(func(c *pipeline.ServiceStep) { c.GPUs = given })
		free = free[n:]
	}
	return p
}

// placementResult is where a deployment goes: to a node, at once or in its queue, or into
// the queue for the next room on any.
type placementResult struct {
	node   Candidate
	starts bool
	// refused is the table of reasons of a spot without a node.
	refused []NodeRefusal
	// asks is the node that is asked first, for a run that waits in the queue meanwhile.
	asks string
}

// choosePlacement finds a node, and locks all nodes of the environment until commit.
// Earlier runs in the queue keep what becomes free.
func choosePlacement(ctx context.Context, tx *postgres.Tx, env controlplane.EnvironmentID,
	p plan, wait bool) (placementResult, error) {
	if err := takeClaim(ctx, tx, p.answers); err != nil {
		return placementResult{}, err
	}
	nodes, err := tx.Placement().LockNodes(ctx, env)
	if err != nil {
		return placementResult{}, err
	}
	all, err := withQueue(ctx, tx, env, nodes)
	if err != nil {
		return placementResult{}, err
	}
	ask := p.ask
	ask.Declined, ask.NoQuestions = p.answers.declined, !wait
	ask.Claimed = cmp.Or(p.answers.node, ask.Claimed)
	node, refused := chooseClaimedFirst(all, ask, p.answers.node)
	switch {
	case node.ID != "" && mustAsk(node, ask):
		return placementResult{asks: node.Name}, nil
	case node.ID != "":
		return placementResult{node: node, starts: true}, nil
	case !wait:
		return placementResult{}, explainNoRoom(ctx, tx, p.actor, p.env, all, ask, refused)
	}
	ask.MayWait = true
	if node, refused = ChooseNode(all, ask); node.ID != "" && mustAsk(node, ask) {
		return placementResult{asks: node.Name}, nil
	}
	return placementResult{node: node, refused: refused}, nil
}

// chooseClaimedFirst is ChooseNode that prefers the node that has just claimed the
// deployment.
func chooseClaimedFirst(
	all []Candidate, ask ResourceRequest, claimed string,
) (Candidate, []NodeRefusal) {
	if claimed != "" {
		only := ask
		only.Only = claimed
		if node, _ := ChooseNode(all, only); node.ID != "" {
			return node, nil
		}
	}
	return ChooseNode(all, ask)
}

// withQueue returns the placement candidates, with the runs that are queued for them.
func withQueue(ctx context.Context, tx *postgres.Tx, env controlplane.EnvironmentID,
	nodes []postgres.PlacementNode) ([]Candidate, error) {
	rows, err := tx.Queue().ListRuns(ctx, env)
	if err != nil {
		return nil, err
	}
	waiting, _, err := waitingOf(ctx, tx, env, rows)
	if err != nil {
		return nil, err
	}
	all := newCandidates(nodes)
	for _, w := range waiting {
		if w.Node == "" && w.Offer == nil {
			reserveFitting(all, w.Ask)
		}
	}
	return all, nil
}

func newCandidates(nodes []postgres.PlacementNode) []Candidate {
	all := make([]Candidate, len(nodes))
	for i, n := range nodes {
		all[i] = newCandidate(n)
	}
	return all
}

func newCandidate(n postgres.PlacementNode) Candidate {
	c := Candidate{ID: string(n.Node.ID), Name: n.Node.Name, Enabled: n.Node.IsEnabled(),
		Online:  n.Node.Status == controlplane.NodeOnline,
		Trusted: n.Node.Status != controlplane.NodeUntrusted, AllocatedCPU: n.Reserved.CPU,
		AllocatedMemory: int64(n.Reserved.MemoryMiB) << 20, Labels: n.Node.Labels(),
		Settings: n.Node.Settings, Taken: n.GPUs, Runs: n.Runs, Queued: n.Queued,
		Draining: n.Node.Drain != nil, Blocked: n.Node.BlockedReason(),
		EngineDown: n.Node.Inventory.EngineDown(), Deployments: n.Deployments,
		NoSecrets: n.Node.Inventory.LacksSecrets(), Rules: n.Rules, Busy: n.Busy}
	c.AllocatedVRAM = n.VRAMMiB << 20
	if i := n.Node.Inventory; i != nil {
		c.Arch, c.Subnets = controlplane.ArchOf(i.Arch), i.Subnets
		c.CPU, c.Memory, c.DiskFree, c.GPUs = i.CPU, i.Memory, i.Disk, i.GPUs
	}
	if v := n.Node.Vitals; v != nil {
		c.DiskFree, c.UsedCPU = v.DiskFree, v.CPU
		// Measured at once, the two belong together; what is stored of each service
		// may be older.
		ours := v.MemoryOurs
		if ours == 0 {
			ours = n.MemoryUsed
		}
		c.ForeignMemory = max(0, v.MemoryUsed-ours)
		c.Stale = v.IsStale(time.Now())
	}
	return c
}

// assignNode writes on a deployment which node it has, and what of it.
func assignNode(d *controlplane.Deployment, p *plan, node Candidate) {
	d.NodeID, d.Node = controlplane.NodeID(node.ID), node.Name
	d.Resources, d.Versions, d.VRAMMiB = p.ask.Resources, p.versions, new(int64(p.ask.VRAMMiB))
	if node.ID == "" {
		d.GPUs = nil
		return
	}
	// Placement found them free: there is no reason left.
	d.GPUs, _ = gpusOf(node, p.ask, node.Taken)
	p.pipeline = withGPUs(p.pipeline, d.GPUs)
}

// sizeReportWait is how long a client waits before it asks again for room on a
// node that has not reported its size. Agents report within a second or two.
// An engine that is started again takes longer: engineWait.
const (
	sizeReportWait = 5 * time.Second
	engineWait     = 15 * time.Second
)

// passingState returns an error if a node may have room once a temporary state is over: "no room"
// would be a final answer too early.
func passingState(ask ResourceRequest, refused []NodeRefusal) error {
	for _, r := range refused {
		e := &controlplane.Error{Kind: controlplane.Unavailable, Code: "node_not_ready"}
		switch r.Reason {
		case reasonNoSize:
			e.Message = "Node " + r.Node + " has connected but has not reported its size yet."
			e.Remedy, e.RetryAfter = "Try again in a few seconds.", sizeReportWait
			return e
		case reasonStale:
			e.Message = "Node " + r.Node + " has not reported what it uses for minutes."
			e.Remedy, e.RetryAfter = "Try again in a few seconds.", sizeReportWait
			return e
		case reasonNoEngine:
			e.Message = "The container engine of node " + r.Node + " does not answer."
			e.Remedy = "The node can take it once the engine runs: " + waitRemedy(ask) +
				". An admin finds the reason in the node's checks."
			e.RetryAfter = engineWait
			return e
		}
	}
	return nil
}

// allOffline reports that nothing is known but that the nodes are offline. A node that is offline
// says nothing of another one that is full.
func allOffline(refused []NodeRefusal) bool {
	return len(refused) > 0 && !slices.ContainsFunc(refused,
		func(r NodeRefusal) bool { return r.Reason != reasonOffline })
}

// explainNoRoom is noRoom with what frees room soonest, if more room would do.
func explainNoRoom(ctx context.Context, tx *postgres.Tx, actor access.Actor,
	env controlplane.Environment, all []Candidate, ask ResourceRequest, refused []NodeRefusal,
) error {
	if !mayComeFree(all, ask) {
		return noRoom(ask, refused)
	}
	room, err := describeRelief(ctx, tx, actor, env, all, ask)
	if err != nil {
		return err
	}
	return addRelief(noRoom(ask, refused), room)
}

// wordRequest says what a deployment asks for, if it limits anything.
func wordRequest(ask ResourceRequest) string {
	amounts := wordAmounts(ask.Resources, ask.GPUs+len(ask.GPUIDs))
	if amounts == "" {
		return ""
	}
	return ": this deployment asks for " + amounts
}

// wordAmounts is what is reserved, or "" if that is nothing.
func wordAmounts(r pipeline.Resources, gpus int) string {
	var parts []string
	if r.CPU > 0 {
		parts = append(parts, quantity.FormatCores(r.CPU))
	}
	if r.MemoryMiB > 0 {
		parts = append(parts, quantity.FormatMemory(r.MemoryMiB)+" of memory")
	}
	if gpus > 0 {
		parts = append(parts, quantity.FormatCount(gpus, "GPU", "GPUs"))
	}
	return strings.Join(parts, " and ")
}

// waitRemedy is what to do until a node has room. What moves has a place meanwhile, and no queue.
func waitRemedy(ask ResourceRequest) string {
	if ask.Avoid != "" {
		return "try again later"
	}
	return "let the deployment wait for room, or try again later"
}

const remedyNoRoom = "Remove a deployment, or ask an admin to add a node."

func noRoom(ask ResourceRequest, refused []NodeRefusal) error {
	if err := passingState(ask, refused); err != nil {
		return err
	}
	e := &controlplane.Error{Kind: controlplane.Exhausted, Code: "no_room",
		Message: "no node has room" + wordRequest(ask),
		Remedy:  remedyNoRoom}
	switch {
	case len(refused) == 0:
		e.Message, e.Remedy = "the environment has no nodes", "Ask an admin to add one."
	case allOffline(refused):
		e.Kind, e.Code, e.RetryAfter = controlplane.Unavailable, "node_offline", engineWait
		e.Message = "all nodes of the environment are offline"
		e.Remedy = "Try again once an agent is connected; an admin sees at each node since when it is " +
			"offline."
	}
	if slices.ContainsFunc(refused, NodeRefusal.isPassing) {
		e.Remedy = "A busy node becomes free by itself: " + waitRemedy(ask) + ". " + e.Remedy
	}
	if slices.ContainsFunc(refused, NodeRefusal.isDecline) {
		e.Message = "no node takes this deployment"
		e.Remedy = "The nodes' reasons say what to change; or " + waitRemedy(ask) + "."
	}
	for _, r := range refused {
		reason := controlplane.PlacementReason{Node: r.Node, Reason: r.Reason, Class: r.Class}
		if r.CPUFree > 0 || r.MemoryFree > 0 {
			reason.CPUFree, reason.MemoryFree = &r.CPUFree, &r.MemoryFree
		}
		e.Placement = append(e.Placement, reason)
	}
	return e
}
