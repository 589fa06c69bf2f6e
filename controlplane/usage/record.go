package usage

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

const (
	// rawAtOnce is how many single measurements one flush may write.
	rawAtOnce = 5_000
	// mostCores and mostBytes exceed every machine, even a minute's sum: larger values are
	// nonsense, and their sums would overflow.
	mostCores = 1 << 16
	mostBytes = 1 << 52
	// mostJoined is more measurements than an agent sends as one.
	mostJoined = 100
	// stepLength is that of a DNS label.
	stepLength = 63
)

// Observe takes the last measurement of a node. It is written soon.
func (u *Usage) Observe(_ context.Context, actor access.Actor, node controlplane.NodeID,
	v controlplane.NodeVitals) error {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.vitals[node] = v
	return nil
}

// Store takes measurements of a node, and returns when they are committed.
func (u *Usage) Store(ctx context.Context, actor access.Actor, node controlplane.NodeID,
	batch controlplane.UsageBatch) error {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return err
	}
	if len(batch.Items) == 0 || batch.Boot == "" || len(batch.Boot) > 64 {
		return errors.New("measurements without a life or without items")
	}
	p := &pending{node: node, batch: batch, done: make(chan error, 1)}
	u.mu.Lock()
	u.batches = append(u.batches, p)
	u.mu.Unlock()
	select {
	case err := <-p.done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Flush writes the collected measurements. If that fails, the callers get the error
// and their agents send them again.
func (u *Usage) Flush(ctx context.Context) error {
	u.mu.Lock()
	vitals, batches := u.vitals, u.batches
	u.vitals, u.batches = map[controlplane.NodeID]controlplane.NodeVitals{}, nil
	u.mu.Unlock()
	err := errors.Join(u.flushVitals(ctx, vitals), u.announceWatched(ctx))
	if len(batches) == 0 {
		return err
	}
	stored := u.store.InTx(ctx, func(tx *postgres.Tx) error { return storeBatches(ctx, tx, batches) })
	for _, p := range batches {
		p.done <- stored
	}
	return errors.Join(err, stored)
}

func (u *Usage) flushVitals(
	ctx context.Context, all map[controlplane.NodeID]controlplane.NodeVitals,
) error {
	if len(all) == 0 {
		return nil
	}
	left := maps.Clone(all)
	err := u.store.InTx(ctx, func(tx *postgres.Tx) error {
		done, err := tx.Nodes().SetVitalsOf(ctx, all)
		for _, id := range done {
			delete(left, id)
		}
		return err
	})
	if err != nil {
		return err // Newer ones are coming.
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for id, v := range left {
		// A removed node's row is never stored, and must not stay in memory for ever.
		if _, newer := u.vitals[id]; !newer && time.Since(v.At) < time.Minute {
			u.vitals[id] = v
		}
	}
	return nil
}

// storeBatches stores batches with the marks that say so.
func storeBatches(ctx context.Context, tx *postgres.Tx, batches []*pending) error {
	nodes := map[controlplane.NodeID]bool{}
	for _, p := range batches {
		nodes[p.node] = true
	}
	marks, err := tx.Usage().LockMarks(ctx, slices.Sorted(maps.Keys(nodes)))
	if err != nil {
		return err
	}
	var items []controlplane.UsageItem
	for _, p := range batches {
		fresh, mark := newItems(marks[p.node], p)
		marks[p.node] = mark
		items = append(items, fresh...)
	}
	if err := tx.Usage().Add(ctx, aggregateRows(items)); err != nil {
		return err
	}
	var all []controlplane.UsageMark
	for _, id := range slices.Sorted(maps.Keys(nodes)) {
		all = append(all, marks[id])
	}
	return tx.Usage().PutMarks(ctx, all)
}

// newItems returns the items of a batch that are not stored yet, and the new mark.
// After the agent restarted, numbers begin again.
func newItems(
	m controlplane.UsageMark,
	p *pending,
) ([]controlplane.UsageItem, controlplane.UsageMark) {
	if m.Boot != p.batch.Boot {
		m = controlplane.UsageMark{Node: p.node, Boot: p.batch.Boot}
	}
	var fresh []controlplane.UsageItem
	for _, item := range p.batch.Items {
		if item.Number <= m.Number {
			continue
		}
		item = withoutStored(item, m.Number)
		m.Number = item.Number
		item.All = slices.DeleteFunc(item.All, isImplausible)
		fresh = append(fresh, item)
	}
	return fresh, m
}

// withoutStored returns an item without those of its measurements that are stored already: an agent
// may join others when it sends them again.
func withoutStored(item controlplane.UsageItem, stored int64) controlplane.UsageItem {
	item.All = slices.Clone(item.All)
	count := max(1, item.Count)
	left := int(min(int64(count), item.Number-stored))
	if left == count {
		return item
	}
	share := float64(left) / float64(count)
	item.Count = left
	for i := range item.All {
		u := &item.All[i]
		u.Count = left
		u.CPU, u.Memory = u.CPU*share, u.Memory*share
		u.Flow = controlplane.Flow{NetIn: u.Flow.NetIn * share, NetOut: u.Flow.NetOut * share,
			DiskRead: u.Flow.DiskRead * share, DiskWritten: u.Flow.DiskWritten * share}
	}
	return item
}

// isImplausible reports values that no honest agent sends; they would spoil the
// statement that stores all nodes' measurements together.
func isImplausible(u controlplane.UsageSum) bool {
	bytes := []float64{u.Memory, float64(u.MemoryMax), float64(u.DiskFree), u.Flow.NetIn,
		u.Flow.NetOut, u.Flow.DiskRead, u.Flow.DiskWritten}
	return !controlplane.ValidID(u.Subject) || u.Count < 1 || u.Count > mostJoined ||
		len(u.Step) > stepLength ||
		strings.ContainsRune(string(u.Step), 0) || !isBetween(u.CPU, mostCores) ||
		slices.ContainsFunc(bytes, func(b float64) bool { return !isBetween(b, mostBytes) })
}

func isBetween(f, most float64) bool { return !math.IsNaN(f) && f >= 0 && f <= most }

// aggregateRows are what is written of new measurements: single ones, their minutes and
// their hours.
func aggregateRows(items []controlplane.UsageItem) []controlplane.UsageSum {
	points := 0
	for _, item := range items {
		points += len(item.All)
	}
	every := sampleStride(points, rawAtOnce)
	var raw, all []controlplane.UsageSum
	for _, item := range items {
		all = append(all, item.All...)
		if item.Number%every == 0 {
			raw = append(raw, item.All...)
		}
	}
	return slices.Concat(Downsample(raw, Raw), Downsample(all, Minutely), Downsample(all, Hourly))
}

// sampleStride is every how manieth measurement can be written when so many are there.
func sampleStride(points, most int) int64 { return max(1, int64((points+most-1)/most)) }
