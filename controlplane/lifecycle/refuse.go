package lifecycle

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/internal/quantity"
)

// refusalReason returns the first reason why a node cannot take the request, or "". It checks what
// cannot change by itself first (permanentReason), then the free capacity.
func refusalReason(n Candidate, ask ResourceRequest) string {
	if reason := permanentReason(n, ask); reason != "" {
		return reason
	}
	return capacityReason(n, ask)
}

// reasonNoSize ends within seconds: an agent reports the size of its node right after it has
// connected. See isTransientReason.
const reasonNoSize = "It has not reported its size yet; try again in a few seconds."

// reasonNoEngine is transient too, though a person may have to start the engine.
const reasonNoEngine = "Its container engine does not answer; its checks say what to do."

// reasonStale is transient too: the figures of the node are too old to decide by them.
const reasonStale = "It has not reported what it uses for minutes; try again in a " +
	"few seconds."

// reasonOffline passes when the agent connects again, as after its restart or upgrade.
const reasonOffline = "It is offline."

// isTransientReason reports whether a reason ends by itself, or by starting an engine.
func isTransientReason(
	reason string,
) bool {
	return reason == reasonNoSize || reason == reasonNoEngine || reason == reasonStale
}

// permanentReason returns why a node cannot take the request even after other deployments on it
// have been removed, or "".
func permanentReason(n Candidate, ask ResourceRequest) string {
	switch {
	case n.ID == ask.Avoid && n.ID != "":
		return "It is the node that it leaves."
	case ask.Only != "" && n.ID != ask.Only:
		return "It is not the node that was asked for."
	case !n.Enabled:
		return "It is disabled; an admin can enable it."
	case n.Draining:
		return "It is being drained; an admin can end that."
	case !n.Trusted:
		return "It is untrusted: an admin must look at its certificate."
	case !n.Online:
		return reasonOffline
	case n.Blocked != "":
		return n.Blocked + " An admin must look at its checks."
	}
	if reason := labelReason(n, ask); reason != "" {
		return reason
	}
	if ask.InMemory && n.NoSecrets {
		return "It has no folder in memory for the secrets and files of services; its checks " +
			"say what to do."
	}
	if ask.NoVRAMHint && n.Settings.RequireVRAMHint {
		return "It takes services with GPUs only if they say how much GPU memory they use (vram_mib)."
	}
	switch unknown := n.CPU == 0 || n.Memory == 0; {
	case unknown && n.EngineDown:
		return reasonNoEngine
	case unknown:
		return reasonNoSize
	}
	if reason := tooSmall(n, ask); reason != "" {
		return reason
	}
	if n.EngineDown {
		return reasonNoEngine
	}
	return offerReason(n, ask)
}

// tooSmall returns why the node could not take the request even if it were empty, or "".
func tooSmall(n Candidate, ask ResourceRequest) string {
	if !runsOn(n, ask.Arches) {
		return fmt.Sprintf("Its processor is %s, and the images are built for %s.", n.Arch,
			listArches(ask.Arches))
	}
	switch wanted := int64(ask.MemoryMiB) << 20; {
	case n.CPU < ask.LargestCPU:
		return fmt.Sprintf("One service asks for %s and the node has %s.",
			quantity.FormatCores(ask.LargestCPU), quantity.FormatNumber(n.CPU))
	case cpuLimit(n) < ask.CPU-cpuTolerance:
		return fmt.Sprintf("It asks for %s and the node has %s to give.",
			quantity.FormatCores(ask.CPU), quantity.FormatNumber(cpuLimit(n)))
	case n.Memory < wanted:
		return fmt.Sprintf("It asks for %s of memory and the node has %s.", quantity.FormatBytes(wanted),
			quantity.FormatBytes(n.Memory))
	}
	if wanted := int64(ask.VRAMMiB) << 20; totalGPUMemory(n) < wanted {
		return fmt.Sprintf("It asks for %s of GPU memory and the node has %s.",
			quantity.FormatBytes(wanted), quantity.FormatBytes(totalGPUMemory(n)))
	}
	_, reason := gpusOf(n, ask, nil)
	return reason
}

// runsOn reports whether a node can run images for these processors. A node
// or an image whose architecture is not known is accepted.
func runsOn(n Candidate, arches []string) bool {
	return arches == nil || n.Arch == "" || slices.Contains(arches, n.Arch)
}

// listArches names processors for people.
func listArches(arches []string) string {
	if len(arches) == 0 {
		return "different ones"
	}
	return strings.Join(arches, ", ")
}

// labelReason returns which label or taint excludes a node, or "".
func labelReason(n Candidate, ask ResourceRequest) string {
	for _, s := range slices.Concat(ask.Placement.Required, ask.Required) {
		if !s.Matches(n.Labels) {
			return fmt.Sprintf("It has no label %s, which is required.", s)
		}
	}
	for _, s := range ask.Placement.Forbidden {
		if s.Matches(n.Labels) {
			return fmt.Sprintf("It has the label %s, which is forbidden.", s)
		}
	}
	for _, t := range n.Settings.Taints {
		if t.Effect == controlplane.NoSchedule && !isTolerated(t, ask) {
			return fmt.Sprintf("It has the taint %s, which neither the project nor the "+
				"environment tolerates.", t)
		}
	}
	return ""
}

// capacityReason returns what the node has too little of at the moment, or "".
func capacityReason(n Candidate, ask ResourceRequest) string {
	wanted := int64(ask.MemoryMiB) << 20
	switch {
	case n.Stale:
		return reasonStale
	case n.DiskFree < diskFloor(n):
		return fmt.Sprintf("Only %s of disk is free; it needs %s.",
			quantity.FormatBytes(n.DiskFree), quantity.FormatBytes(diskFloor(n)))
	case n.Subnets > 0 && n.Deployments >= n.Subnets:
		return fmt.Sprintf("No address range is free: it has %s for deployments.",
			quantity.FormatCount(n.Subnets, "range", "ranges"))
	case n.Busy:
		return busyReason(n)
	case cpuFree(n) < ask.CPU-cpuTolerance:
		return fmt.Sprintf("%s short.", quantity.FormatCores(ask.CPU-cpuFree(n)))
	case memoryFree(n) < wanted:
		return shortOfMemory(n, wanted)
	}
	short := int64(ask.VRAMMiB)<<20 + n.AllocatedVRAM - totalGPUMemory(n)
	if ask.VRAMMiB > 0 && short > 0 {
		return fmt.Sprintf("%s of GPU memory short: %s of %s is allocated.", quantity.FormatBytes(short),
			quantity.FormatBytes(n.AllocatedVRAM), quantity.FormatBytes(totalGPUMemory(n)))
	}
	if _, reason := gpusOf(n, ask, n.Taken); reason != "" {
		return reason
	}
	switch {
	case n.Waiting > 0:
		return fmt.Sprintf("%s for room on it already.",
			quantity.FormatCount(n.Waiting, "deployment waits", "deployments wait"))
	case (!ask.MayWait || mustAsk(n, ask)) && runsOver(n) > 0:
		return fmt.Sprintf("It takes %s at a time and has %d.",
			quantity.FormatCount(n.Settings.RunLimit, "run", "runs"), n.Runs+n.Queued)
	}
	return ""
}

// refusalClass is one word for why a node cannot take the request, of a few: a reason has numbers
// and names in it, which no metric may have.
func refusalClass(n Candidate, ask ResourceRequest) string {
	_, gpus := gpusOf(n, ask, n.Taken)
	switch {
	case !n.Enabled || n.Draining || !n.Trusted || n.Blocked != "":
		return "closed"
	case !n.Online || n.Stale || n.EngineDown:
		return "offline"
	case permanentReason(n, ask) != "":
		return "unsuitable"
	case n.DiskFree < diskFloor(n):
		return "disk"
	case n.Subnets > 0 && n.Deployments >= n.Subnets:
		return "subnets"
	case n.Busy:
		return "busy"
	case cpuFree(n) < ask.CPU-cpuTolerance:
		return "cpu"
	case memoryFree(n) < int64(ask.MemoryMiB)<<20:
		return "memory"
	case gpus != "" || ask.VRAMMiB > 0 &&
		int64(ask.VRAMMiB)<<20+n.AllocatedVRAM > totalGPUMemory(n):
		return "gpu"
	}
	return "runs"
}

// countRefusals counts why nodes could not take a deployment, if that is what the error is about,
// and returns the error.
func (l *Lifecycle) countRefusals(err error) error {
	refusal, ok := errors.AsType[*controlplane.Error](err)
	if !ok || l.refused == nil {
		return err
	}
	for _, r := range refusal.Placement {
		l.refused(cmp.Or(r.Class, "declined"))
	}
	return err
}

func busyReason(n Candidate) string {
	share, during, _ := n.Rules.BusyShare()
	return fmt.Sprintf("It is busy: for %s, at least %s of its CPU has been in use.",
		quantity.FormatDuration(during), quantity.FormatPercent(share))
}

func shortOfMemory(n Candidate, wanted int64) string {
	text := quantity.FormatBytes(wanted-memoryFree(n)) + " of memory short."
	if n.ForeignMemory > n.Memory/10 {
		text += " " + quantity.FormatBytes(n.ForeignMemory) + " is used by processes that are not ours."
	}
	return text
}

// gpusOf chooses the GPUs for a deployment: those asked for by name, then the smallest
// that are enough, to keep the large ones free.
func gpusOf(n Candidate, ask ResourceRequest, taken []string) (ids []string, reason string) {
	free := slices.DeleteFunc(slices.Clone(n.GPUs), func(g controlplane.GPU) bool {
		return slices.Contains(taken, g.ID) || g.Memory < ask.GPUMemory
	})
	slices.SortStableFunc(free, func(a, b controlplane.GPU) int {
		return int(min(max(a.Memory-b.Memory, -1), 1))
	})
	for _, id := range ask.GPUIDs {
		i := slices.IndexFunc(free, func(g controlplane.GPU) bool { return g.ID == id })
		if i < 0 {
			return nil, fmt.Sprintf("GPU %s is not free on it, or too small.", id)
		}
		free = slices.Delete(free, i, i+1)
		ids = append(ids, id)
	}
	if len(free) < ask.GPUs {
		return nil, fewGPUs(ask, len(free), taken != nil)
	}
	for _, g := range free[:ask.GPUs] {
		ids = append(ids, g.ID)
	}
	return ids, ""
}

func fewGPUs(ask ResourceRequest, has int, now bool) string {
	text := fmt.Sprintf("It has %s", quantity.FormatCount(has, "GPU", "GPUs"))
	if ask.GPUMemory > 0 {
		text += fmt.Sprintf(" of %s or more", quantity.FormatBytes(ask.GPUMemory))
	}
	if now {
		text += " free"
	}
	return fmt.Sprintf("%s; %d asked for.", text, ask.GPUs)
}
