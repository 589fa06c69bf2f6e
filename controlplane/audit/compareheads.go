package audit

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// headMemory holds chain heads that others remember: those that nodes reported, and those that this
// process sent to nodes. An attacker with the database and the key can write another valid chain,
// but cannot make nodes forget the old one's heads.
type headMemory struct {
	mu    sync.Mutex
	nodes map[controlplane.NodeID]observedHeads
	// told holds the heads that this process sent to nodes, oldest first.
	told []controlplane.AuditHead
	// agreed are heads that nodes remember and that were verified. All nodes get the same
	// ones, so that a thousand reconnecting nodes cost one comparison.
	agreed []controlplane.AuditHead
}

// observedHeads is what one witness remembers.
type observedHeads struct {
	name  string
	heads []controlplane.AuditHead
}

const (
	// itself names this process as the one that remembers its own heads.
	itself = "this control plane"
	// mostTold bounds what a process remembers: a day of them.
	mostTold = 300
)

// CompareHeads compares a node's remembered heads with the stored chain, and keeps them for
// later verifications. False means that the chain was rewritten, and that the node
// must not get this chain's head.
func (l *Log) CompareHeads(ctx context.Context, actor access.Actor, node controlplane.NodeID,
	name string, heads []controlplane.AuditHead) (holds bool, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return false, err
	}
	l.witnesses.mu.Lock()
	if l.witnesses.nodes == nil {
		l.witnesses.nodes = map[controlplane.NodeID]observedHeads{}
	}
	l.witnesses.nodes[node] = observedHeads{name: name, heads: heads}
	known := slices.Concat(l.witnesses.told, l.witnesses.agreed)
	l.witnesses.mu.Unlock()
	rest := slices.DeleteFunc(slices.Clone(heads), func(h controlplane.AuditHead) bool {
		return slices.ContainsFunc(known, h.IsSameLink)
	})
	if len(rest) == 0 {
		return true, nil
	}
	found, err := l.compareStatement(ctx, observedHeads{name: name, heads: rest})
	if err != nil || len(found) > 0 {
		return false, err
	}
	l.witnesses.mu.Lock()
	defer l.witnesses.mu.Unlock()
	l.witnesses.agreed = append(l.witnesses.agreed, rest...)
	l.witnesses.agreed = l.witnesses.agreed[max(0, len(l.witnesses.agreed)-mostTold):]
	return true, nil
}

// CurrentHead returns the chain's head for nodes to remember. It is false if the chain
// contradicts a head that this process sent before: then nodes must keep the old ones.
func (l *Log) CurrentHead(
	ctx context.Context, actor access.Actor,
) (head controlplane.AuditHead, holds bool, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return head, false, err
	}
	if last, ok := l.witnesses.lastHead(); ok {
		found, err := l.compareStatement(ctx, observedHeads{itself, []controlplane.AuditHead{last}})
		if err != nil || len(found) > 0 {
			return last, false, err
		}
	}
	err = l.store.Read(ctx, func(tx *postgres.Tx) (err error) {
		if head.At, err = tx.DatabaseTime(ctx); err != nil {
			return err
		}
		head.Seq, head.Link, err = tx.Audit().GetHead(ctx)
		return err
	})
	if err == nil && head.Seq > 0 {
		l.witnesses.rememberHead(head)
	}
	return head, err == nil && head.Seq > 0, err
}

func (w *headMemory) lastHead() (head controlplane.AuditHead, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.told); n > 0 {
		return w.told[n-1], true
	}
	return head, false
}

func (w *headMemory) rememberHead(h controlplane.AuditHead) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.told); n > 0 && w.told[n-1].IsSameLink(h) {
		return
	}
	w.told = append(w.told, h)
	w.told = w.told[max(0, len(w.told)-mostTold):]
}

// snapshot returns all remembered heads.
func (w *headMemory) snapshot() headComparison {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := newHearing(observedHeads{itself, w.told})
	for _, s := range w.nodes {
		h.addHeads(s)
	}
	h.nodes = len(w.nodes)
	return h
}

// compareStatement holds one statement against the few links it is about.
func (l *Log) compareStatement(ctx context.Context, s observedHeads) (found []Finding, err error) {
	err = l.store.Read(ctx, func(tx *postgres.Tx) error {
		points, err := tx.Audit().ListCheckpoints(ctx)
		if err != nil {
			return err
		}
		h := newHearing(s)
		for _, c := range points {
			h.startAt(c.Seq, c.Link)
		}
		seqs := make([]int64, len(s.heads))
		for i, head := range s.heads {
			seqs[i] = head.Seq
		}
		links, err := tx.Audit().ListLinks(ctx, seqs)
		if err != nil {
			return err
		}
		for seq, link := range links {
			h.compareLink(seq, link)
		}
		end, _, err := tx.Audit().GetHead(ctx)
		if err != nil {
			return err
		}
		found, err = h.findContradictions(ctx, tx, end)
		return err
	})
	return found, err
}

// headComparison compares statements with the chain.
type headComparison struct {
	nodes int
	// open are the statements by entry that were not compared yet.
	open map[int64][]observedHead
	// agreed are the entries that some witness agreed on.
	agreed []int64
	denied []observedHead
}

// observedHead is one head, and who remembers it.
type observedHead struct {
	controlplane.AuditHead
	name string
}

func newHearing(s observedHeads) headComparison {
	h := headComparison{open: map[int64][]observedHead{}}
	h.addHeads(s)
	return h
}

func (h *headComparison) addHeads(s observedHeads) {
	for _, head := range s.heads {
		h.open[head.Seq] = append(h.open[head.Seq], observedHead{head, s.name})
	}
}

// startAt forgets what is about entries that retention cut off, up to this one.
func (h *headComparison) startAt(seq int64, link controlplane.AuditLink) {
	h.compareLink(seq, link)
	for s := range h.open {
		if s < seq {
			delete(h.open, s)
		}
	}
}

func (h *headComparison) compareLink(seq int64, link controlplane.AuditLink) {
	for _, t := range h.open[seq] {
		if t.Link.Equal(link) {
			h.agreed = append(h.agreed, seq)
		} else {
			h.denied = append(h.denied, t)
		}
	}
	delete(h.open, seq)
}

// findContradictions returns the contradicted entries, each once, and from where on. Heads
// from before a restore are about entries that the restore lost, and the chain has an
// entry about that, so they are ignored.
func (h *headComparison) findContradictions(
	ctx context.Context, tx *postgres.Tx, end int64,
) (found []Finding, err error) {
	for _, all := range h.open {
		h.denied = append(h.denied, all...)
	}
	if len(h.denied) == 0 {
		return nil, nil
	}
	restored, err := restoredAt(ctx, tx)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(h.denied, func(a, b observedHead) int { return cmp.Compare(b.Seq, a.Seq) })
	var last int64
	for _, t := range h.denied {
		// Several heads beyond the end prove the same cut: one finding is enough.
		if !t.At.After(restored) || t.Seq == last || t.Seq > end && last > end {
			continue
		}
		last = t.Seq
		found = append(found, h.newFinding(t, end))
	}
	slices.Reverse(found)
	return found, nil
}

func (h *headComparison) newFinding(t observedHead, end int64) Finding {
	if t.Seq > end {
		return Finding{Seq: end + 1, Problem: fmt.Sprintf("entries %d to %d are missing: %s "+
			"remembers that the chain ended at %d", end+1, t.Seq, t.name, t.Seq)}
	}
	from := int64(1)
	for _, seq := range h.agreed {
		if seq < t.Seq {
			from = max(from, seq+1)
		}
	}
	return Finding{Seq: from, Problem: fmt.Sprintf("the chain was written anew, from an entry "+
		"between %d and %d on: %s remembers another entry %d", from, t.Seq, t.name, t.Seq)}
}

// restoredAt is when the database was last restored from a backup; the zero
// time for never.
func restoredAt(ctx context.Context, tx *postgres.Tx) (time.Time, error) {
	last, err := tx.Audit().List(ctx, postgres.AuditFilter{Everything: true,
		Actor: access.System("restore").Name(), Action: "restore",
		Result: controlplane.AuditOK, Most: 1})
	if err != nil || len(last) == 0 {
		return time.Time{}, err
	}
	return last[0].At, nil
}
