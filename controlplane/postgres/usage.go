package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
	"github.com/nullops/nullops/pipeline"
)

// LockMarks returns how far the nodes' measurements are stored, and locks the marks
// until the transaction ends.
func (t Usage) LockMarks(
	ctx context.Context, nodes []controlplane.NodeID,
) (map[controlplane.NodeID]controlplane.UsageMark, error) {
	rows, err := t.q.LockUseMarks(ctx, toStrings(nodes))
	if err != nil {
		return nil, fmt.Errorf("lock marks of use: %w", translateError(err))
	}
	all := make(map[controlplane.NodeID]controlplane.UsageMark, len(rows))
	for _, r := range rows {
		id := controlplane.NodeID(r.NodeID)
		all[id] = controlplane.UsageMark{Node: id, Boot: r.Boot, Number: r.Number}
	}
	return all, nil
}

// PutMarks notes how far the nodes are now.
func (t Usage) PutMarks(ctx context.Context, marks []controlplane.UsageMark) error {
	var nodes, boots []string
	var numbers []int64
	for _, m := range marks {
		nodes, boots = append(nodes, string(m.Node)), append(boots, m.Boot)
		numbers = append(numbers, m.Number)
	}
	if err := t.q.PutUseMarks(ctx, nodes, boots, numbers); err != nil {
		return fmt.Errorf("store marks of use: %w", translateError(err))
	}
	return nil
}

// useAtOnce bounds one statement.
const useAtOnce = 5_000

// Add adds to the rows of the same subject, step, width and time. None may
// come twice in one call.
func (t Usage) Add(ctx context.Context, all []controlplane.UsageSum) error {
	for len(all) > 0 {
		n := min(len(all), useAtOnce)
		if err := t.q.AddUse(ctx, useRows(all[:n])); err != nil {
			return fmt.Errorf("store use: %w", translateError(err))
		}
		all = all[n:]
	}
	return nil
}

func useRows(all []controlplane.UsageSum) (p dbsqlc.AddUseParams) {
	for _, u := range all {
		p.Subjects = append(p.Subjects, u.Subject)
		p.Nodes = append(p.Nodes, string(u.Node))
		p.Steps = append(p.Steps, string(u.Step))
		p.Widths = append(p.Widths, int32(u.Width.Seconds()))
		p.Moments = append(p.Moments, u.At)
		p.Counts = append(p.Counts, int32(u.Count))
		p.Cpus = append(p.Cpus, u.CPU)
		p.CpuMaxs = append(p.CpuMaxs, u.CPUMax)
		p.Memories = append(p.Memories, u.Memory)
		p.MemoryMaxs = append(p.MemoryMaxs, u.MemoryMax)
		p.DisksFree = append(p.DisksFree, u.DiskFree)
		p.NetsIn = append(p.NetsIn, u.Flow.NetIn)
		p.NetsOut = append(p.NetsOut, u.Flow.NetOut)
		p.DisksRead = append(p.DisksRead, u.Flow.DiskRead)
		p.DisksWritten = append(p.DisksWritten, u.Flow.DiskWritten)
	}
	return p
}

// List returns the measurements of one period, of a node or of a deployment's services, by
// step and time.
func (t Usage) List(ctx context.Context, subject string, width time.Duration,
	since, until time.Time, most int) ([]controlplane.UsageSum, error) {
	rows, err := t.q.ListUse(ctx, dbsqlc.ListUseParams{Subject: subject,
		Width: int32(width.Seconds()), Since: since, Until: until, Most: int32(most)})
	if err != nil {
		return nil, fmt.Errorf("list use: %w", translateError(err))
	}
	all := make([]controlplane.UsageSum, len(rows))
	for i, r := range rows {
		all[i] = controlplane.UsageSum{Subject: r.Subject, Step: pipeline.StepKey(r.Step), Width: width,
			At: r.At, Count: int(r.Count), CPU: r.Cpu, CPUMax: r.CpuMax, Memory: r.Memory,
			MemoryMax: r.MemoryMax, DiskFree: r.DiskFree, Flow: controlplane.Flow{NetIn: r.NetIn,
				NetOut: r.NetOut, DiskRead: r.DiskRead, DiskWritten: r.DiskWritten}}
	}
	return all, nil
}

// DeleteOldest deletes up to most of the oldest rows of a width, and returns how many.
func (t Usage) DeleteOldest(
	ctx context.Context, width time.Duration, before time.Time, most int,
) (int64, error) {
	n, err := t.q.DropUse(ctx, int32(width.Seconds()), before, int32(most))
	if err != nil {
		return 0, fmt.Errorf("drop old use: %w", translateError(err))
	}
	return n, nil
}

// DeleteMarks forgets the marks of nodes that are gone.
func (t Usage) DeleteMarks(ctx context.Context) error {
	if err := t.q.DropUseMarks(ctx); err != nil {
		return fmt.Errorf("drop marks of use: %w", translateError(err))
	}
	return nil
}
