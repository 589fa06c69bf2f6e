package lifecycle

import (
	"cmp"
	"slices"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/pipeline"
)

// DiskFloor is the free disk, in bytes, below which a node takes no new deployment,
// unless an admin set another value. It leaves room for a few image layers.
const DiskFloor = 1 << 30

// likeTheOthers is the default priority of a node.
const likeTheOthers = 128

// ResourceRequest is what a deployment needs: the sum over its services, the most CPU that
// one of them alone may use, which no overcommitment can stretch, and which
// nodes will do.
type ResourceRequest struct {
	pipeline.Resources
	LargestCPU float64
	// GPUs are asked for by number, GPUIDs by name; each has GPUMemory bytes.
	GPUs      int
	GPUIDs    []string
	GPUMemory int64
	// VRAMMiB is what services say they use of GPU memory, together; NoVRAMHint is set if
	// one with GPUs does not say it.
	VRAMMiB    int  `json:",omitempty"`
	NoVRAMHint bool `json:",omitempty"`
	// Arches are the processors that all its images run on; nil is any.
	Arches    []string
	Placement controlplane.Placement
	// Required are labels that this request asks for, besides those of Placement.
	Required []controlplane.Selector `json:",omitempty"`
	// InMemory is set if a service has secrets or files, which a node keeps in memory only.
	InMemory bool `json:",omitempty"`
	// Only is the one node that is acceptable, Avoid the one that is not; both are usually
	// empty.
	Only, Avoid string
	// MayWait is set if a node at its run limit is acceptable, because the run can be
	// queued.
	MayWait bool
	// Claimed is the node that need not be asked: it has said that it takes the deployment, or
	// had it before.
	Claimed string `json:",omitempty"`
	// Declined has the reasons of the nodes that were asked and do not take it now, by id.
	// NoQuestions is set if no further node can be asked.
	Declined    map[string]string `json:"-"`
	NoQuestions bool              `json:"-"`
}

// Candidate is what placement knows about one node. Sizes are in bytes, CPU in cores.
// Zero capacity means that the node has not reported its size.
type Candidate struct {
	ID      string
	Name    string
	Enabled bool
	Online  bool
	Trusted bool
	// Blocked is why a node that is online may take nothing new: a check failed
	// without which deployments are not safe there.
	Blocked string
	// EngineDown is set while the node's container engine does not answer.
	EngineDown bool
	Draining   bool
	// NoSecrets is set if the node has no folder in memory for secrets.
	NoSecrets bool
	CPU       float64
	Memory    int64
	DiskFree  int64
	// Allocated counts every deployment not yet gone, ready or not.
	AllocatedCPU    float64
	AllocatedMemory int64
	// AllocatedVRAM is what is promised of the memory of all its GPUs.
	AllocatedVRAM int64
	// Foreign is memory used by processes that are not ours, UsedCPU what all
	// processes use, in cores.
	ForeignMemory int64
	UsedCPU       float64
	// Rules say how often CPU may be reserved. Busy is set if CPU was in use for as long
	// as they allow.
	Rules controlplane.CapacityRules
	Busy  bool
	// Stale is set if what the node uses is not known any more.
	Stale bool
	// GPUs are all it has, Taken the ids of those that are reserved.
	GPUs  []controlplane.GPU
	Taken []string
	// Arch is the CPU architecture as images name it; empty if the node has not reported
	// it.
	Arch string
	// Subnets is how many deployments have an address range there; zero is unknown.
	Subnets     int
	Deployments int
	// Labels include those that the node reported itself.
	Labels   controlplane.Labels
	Settings controlplane.NodeSettings
	// Runs are running; Queued wait here for their turn.
	Runs, Queued int
	// Waiting counts deployments that came earlier, found no room anywhere, and
	// get the next room here.
	Waiting int
}

// NodeRefusal is why one node cannot take a deployment.
type NodeRefusal struct {
	Node   string
	Reason string
	// Class is a word for the reason, see refusalClass.
	Class string
	// Free is what was left for us; zero when the node was not considered.
	CPUFree    float64
	MemoryFree int64
	// Asks is set for a node without a reason that has to be asked first.
	Asks bool
}

// ChooseNode chooses a node for a deployment. Of those that can take it, the best
// has the most preferred labels and the fewest taints that ask to be avoided,
// then the lowest priority number, then a run to spare, then the most free
// memory after placement; ties go to the least loaded, then by name. It is a
// pure function: no node means that each candidate is in the refusals, with
// its reason.
func ChooseNode(nodes []Candidate, ask ResourceRequest) (Candidate, []NodeRefusal) {
	var fit []Candidate
	var refused []NodeRefusal
	for _, n := range nodes {
		if reason := refusalReason(n, ask); reason != "" {
			refused = append(refused, NodeRefusal{Node: n.Name, Reason: reason,
				Class: refusalClass(n, ask), CPUFree: max(0, cpuFree(n)), MemoryFree: max(0, memoryFree(n))})
			continue
		}
		fit = append(fit, n)
	}
	if len(fit) == 0 {
		slices.SortFunc(refused, func(a, b NodeRefusal) int { return cmp.Compare(a.Node, b.Node) })
		return Candidate{}, refused
	}
	return slices.MinFunc(fit, func(a, b Candidate) int { return compareFor(ask, a, b) }), nil
}

// compareFor orders the better node first.
func compareFor(ask ResourceRequest, a, b Candidate) int {
	return cmp.Or(
		cmp.Compare(preferenceScore(b, ask), preferenceScore(a, ask)),
		cmp.Compare(nodePriority(a), nodePriority(b)),
		cmp.Compare(runsOver(a), runsOver(b)),
		cmp.Compare(memoryFree(b), memoryFree(a)),
		cmp.Compare(cpuLoad(a), cpuLoad(b)),
		cmp.Compare(a.Name, b.Name),
	)
}

// preferenceScore counts what speaks for a node, less what speaks softly against it.
func preferenceScore(n Candidate, ask ResourceRequest) (points int) {
	for _, s := range ask.Placement.Preferred {
		if s.Matches(n.Labels) {
			points++
		}
	}
	for _, t := range n.Settings.Taints {
		if t.Effect == controlplane.PreferNoSchedule && !isTolerated(t, ask) {
			points--
		}
	}
	return points
}

func nodePriority(n Candidate) int { return cmp.Or(n.Settings.Priority, likeTheOthers) }

// runsOver is how long a queue a new run would stand in.
func runsOver(n Candidate) int {
	if n.Settings.RunLimit == 0 {
		return 0
	}
	return max(0, n.Runs+n.Queued+1-n.Settings.RunLimit)
}

// cpuLoad is how busy the processors are: promised, or really in use.
func cpuLoad(n Candidate) float64 { return max(n.AllocatedCPU, n.UsedCPU) }

func isTolerated(t controlplane.Taint, ask ResourceRequest) bool {
	return slices.ContainsFunc(ask.Placement.Tolerations,
		func(o controlplane.Toleration) bool { return o.Tolerates(t) })
}

// cpuTolerance is more than sums of shares such as 0.1 are off.
const cpuTolerance = 1e-6

// cpuLimit is how much CPU may be reserved in all.
func cpuLimit(n Candidate) float64 { return n.CPU * n.Rules.Overcommit() }

func cpuFree(n Candidate) float64 { return cpuLimit(n) - n.AllocatedCPU }

// totalGPUMemory is the memory of all GPUs of a node.
func totalGPUMemory(n Candidate) (bytes int64) {
	for _, g := range n.GPUs {
		bytes += g.Memory
	}
	return bytes
}

func memoryFree(n Candidate) int64 { return n.Memory - n.AllocatedMemory - n.ForeignMemory }

func diskFloor(n Candidate) int64 {
	if n.Settings.DiskFloorMiB > 0 {
		return int64(n.Settings.DiskFloorMiB) << 20
	}
	return DiskFloor
}
