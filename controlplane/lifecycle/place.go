package lifecycle

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/nullops/nullops/pipeline"
)

// DiskFloor is the free disk, in bytes, below which a node takes nothing new:
// room for a few image layers.
const DiskFloor = 1 << 30

// CPUOvercommit is how many times a node's cores may be promised. Services of
// QA environments idle most of the time, and CPU is shared fairly when they do
// not; memory cannot be shared and is never promised twice.
const CPUOvercommit = 4

// Ask is what a deployment needs: the sum over its services, and the most CPU
// that one of them alone may use, which no overcommitment can stretch.
type Ask struct {
	pipeline.Resources
	LargestCPU float64
}

// Candidate is what placement knows of one node. Sizes are in bytes, CPU in
// cores. Zero capacity means that the node never told.
type Candidate struct {
	ID       string
	Name     string
	Enabled  bool
	Online   bool
	Trusted  bool
	CPU      float64
	Memory   int64
	DiskFree int64
	// Allocated counts every deployment not yet gone, ready or not.
	AllocatedCPU    float64
	AllocatedMemory int64
	// Foreign is memory used by processes that are not ours.
	ForeignMemory int64
}

// Refusal says why one node cannot take a deployment.
type Refusal struct {
	Node   string
	Reason string
	// Free is what was left for us; zero when the node was not considered.
	CPUFree    float64
	MemoryFree int64
}

// Place chooses the node with the most free memory after placement; ties go
// to the least loaded, then by name. It is a pure function: no node means that
// each candidate is in the refusals, with its reason.
func Place(nodes []Candidate, ask Ask) (Candidate, []Refusal) {
	var fit []Candidate
	var refused []Refusal
	for _, n := range nodes {
		if reason := refuse(n, ask); reason != "" {
			refused = append(refused, Refusal{Node: n.Name, Reason: reason,
				CPUFree: max(0, cpuFree(n)), MemoryFree: max(0, memoryFree(n))})
			continue
		}
		fit = append(fit, n)
	}
	if len(fit) == 0 {
		slices.SortFunc(refused, func(a, b Refusal) int { return cmp.Compare(a.Node, b.Node) })
		return Candidate{}, refused
	}
	return slices.MinFunc(fit, byRoom), nil
}

// byRoom orders the better node first.
func byRoom(a, b Candidate) int {
	return cmp.Or(
		cmp.Compare(memoryFree(b), memoryFree(a)),
		cmp.Compare(a.AllocatedCPU, b.AllocatedCPU),
		cmp.Compare(a.Name, b.Name),
	)
}

// refuse returns the first reason against a node, or nothing.
func refuse(n Candidate, ask Ask) string {
	switch wanted := int64(ask.MemoryMiB) << 20; {
	case !n.Enabled:
		return "It is disabled; an admin can enable it."
	case !n.Trusted:
		return "It is untrusted: an admin must look at its certificate."
	case !n.Online:
		return "It is offline."
	case n.CPU == 0 || n.Memory == 0:
		return "It has not told its size yet; try again in a few seconds."
	case n.DiskFree < DiskFloor:
		return fmt.Sprintf("Only %s of disk is free; it needs %s.",
			size(n.DiskFree), size(DiskFloor))
	case n.CPU < ask.LargestCPU:
		return fmt.Sprintf("One service asks for %.2f CPU and the node has %.0f.",
			ask.LargestCPU, n.CPU)
	case cpuFree(n) < ask.CPU:
		return fmt.Sprintf("%.2f CPU short.", ask.CPU-cpuFree(n))
	case memoryFree(n) < wanted:
		return shortOfMemory(n, wanted)
	}
	return ""
}

func shortOfMemory(n Candidate, wanted int64) string {
	text := size(wanted-memoryFree(n)) + " of memory short."
	if n.ForeignMemory > n.Memory/10 {
		text += " " + size(n.ForeignMemory) + " is used by processes that are not ours."
	}
	return text
}

func cpuFree(n Candidate) float64 { return n.CPU*CPUOvercommit - n.AllocatedCPU }

func memoryFree(n Candidate) int64 { return n.Memory - n.AllocatedMemory - n.ForeignMemory }

// size prints bytes for people.
func size(bytes int64) string {
	if bytes < 1<<30 {
		return fmt.Sprintf("%d MB", bytes>>20)
	}
	return fmt.Sprintf("%.1f GB", float64(bytes)/(1<<30))
}
