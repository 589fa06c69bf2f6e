package usage

import (
	"cmp"
	"slices"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/pipeline"
)

// The widths that are kept.
const (
	Raw      time.Duration = 0
	Minutely               = time.Minute
	Hourly                 = time.Hour
)

// key is what a row is about.
type key struct {
	node    controlplane.NodeID
	subject string
	step    pipeline.StepKey
	at      time.Time
}

// Downsample sums up measurements by subject, step and stretch of time. It loses
// nothing that can be summed up twice: minutes that become hours are the same as
// single measurements that become hours. The result is in a fixed order.
func Downsample(all []controlplane.UsageSum, width time.Duration) []controlplane.UsageSum {
	sums := map[key]*controlplane.UsageSum{}
	for _, u := range all {
		k := key{u.Node, u.Subject, u.Step, u.At.UTC().Truncate(max(width, time.Millisecond))}
		if have, ok := sums[k]; ok {
			mergeUse(have, u)
			continue
		}
		u.At, u.Width = k.at, width
		sums[k] = &u
	}
	out := make([]controlplane.UsageSum, 0, len(sums))
	for _, u := range sums {
		out = append(out, *u)
	}
	slices.SortFunc(out, func(a, b controlplane.UsageSum) int {
		return cmp.Or(cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.Step, b.Step),
			a.At.Compare(b.At), cmp.Compare(a.Node, b.Node))
	})
	return out
}

func mergeUse(into *controlplane.UsageSum, u controlplane.UsageSum) {
	into.Count += u.Count
	into.CPU += u.CPU
	into.CPUMax = max(into.CPUMax, u.CPUMax)
	into.Memory += u.Memory
	into.MemoryMax = max(into.MemoryMax, u.MemoryMax)
	into.DiskFree = min(into.DiskFree, u.DiskFree)
	into.Flow.NetIn += u.Flow.NetIn
	into.Flow.NetOut += u.Flow.NetOut
	into.Flow.DiskRead += u.Flow.DiskRead
	into.Flow.DiskWritten += u.Flow.DiskWritten
}
