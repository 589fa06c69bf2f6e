package audit

import (
	"context"
	"fmt"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// Verification is what a walk along the chain found.
type Verification struct {
	// Entries is how many links were checked, the newest of them Head.
	Entries int64
	Head    int64
	// HeadLink is what an outside witness may keep: a later chain has to hold
	// the same link at the same place.
	HeadLink controlplane.AuditLink
	// Witnesses is how many nodes' memories were compared.
	Witnesses int
	// Findings is empty for an intact chain. It holds at most mostFindings.
	Findings []Finding
}

// Finding is one place where the chain does not hold.
type Finding struct {
	// Seq is the entry concerned, or the first of several.
	Seq     int64
	Problem string
}

const (
	// mostFindings bounds the answer: after so many, more say nothing new.
	mostFindings = 100
	// batch is how many entries are read at a time.
	batch = 1000
)

// Verify walks the chain from the last sealed checkpoint to its end. It finds entries that were
// changed, moved, deleted or cut off; and, from the heads that nodes remember, a chain that was
// rewritten with the key.
func (l *Log) Verify(ctx context.Context, actor access.Actor) (v Verification, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return v, err
	}
	err = l.store.Read(ctx, func(tx *postgres.Tx) error {
		w := chainWalker{key: l.key, hearing: l.witnesses.snapshot()}
		points, err := tx.Audit().ListCheckpoints(ctx)
		if err != nil {
			return err
		}
		w.startAtCheckpoint(points)
		for more := true; more && len(w.found) < mostFindings; {
			entries, err := tx.Audit().ListChain(ctx, w.seq, batch)
			if err != nil {
				return err
			}
			for _, e := range entries {
				w.checkEntry(e)
			}
			more = len(entries) == batch
		}
		seq, link, err := tx.Audit().GetHead(ctx)
		if err != nil {
			return err
		}
		w.checkEnd(seq, link)
		if err := w.addContradictions(ctx, tx); err != nil {
			return err
		}
		v = Verification{Entries: w.entries, Head: seq, HeadLink: link, Findings: w.found,
			Witnesses: w.hearing.nodes}
		return nil
	})
	return v, err
}

// chainWalker goes along the chain. After a broken link it continues with the stored link,
// so that one change is one finding.
type chainWalker struct {
	key     controlplane.AuditKey
	seq     int64
	link    controlplane.AuditLink
	entries int64
	found   []Finding
	hearing headComparison
}

func (w *chainWalker) addFinding(seq int64, format string, args ...any) {
	if len(w.found) < mostFindings {
		w.found = append(w.found, Finding{Seq: seq, Problem: fmt.Sprintf(format, args...)})
	}
}

// startAtCheckpoint begins after the newest checkpoint; each must have been made with
// the key.
func (w *chainWalker) startAtCheckpoint(points []controlplane.AuditCheckpoint) {
	for _, c := range points {
		if !w.key.SealCheckpoint(c).Equal(c.Seal) {
			w.addFinding(c.Seq, "the checkpoint at entry %d was not made by this installation: "+
				"entries up to it may have been deleted", c.Seq)
		}
		w.seq, w.link = c.Seq, c.Link
	}
	w.hearing.startAt(w.seq, w.link)
}

func (w *chainWalker) checkEntry(e controlplane.AuditEntry) {
	switch {
	case e.Seq == w.seq+2:
		w.addFinding(w.seq+1, "entry %d is missing", w.seq+1)
	case e.Seq > w.seq+2:
		w.addFinding(w.seq+1, "entries %d to %d are missing", w.seq+1, e.Seq-1)
	case !w.key.LinkEntry(w.link, e).Equal(e.Link):
		w.addFinding(e.Seq, "entry %d was changed or moved: it says %s %q of %q",
			e.Seq, e.Actor, e.Action, e.Object)
	}
	w.seq, w.link = e.Seq, e.Link
	w.entries++
	w.hearing.compareLink(e.Seq, e.Link)
}

// addContradictions adds what witnesses contradict.
func (w *chainWalker) addContradictions(ctx context.Context, tx *postgres.Tx) error {
	found, err := w.hearing.findContradictions(ctx, tx, w.seq)
	w.found = append(w.found, found[:min(len(found), mostFindings-len(w.found))]...)
	return err
}

func (w *chainWalker) checkEnd(head int64, link controlplane.AuditLink) {
	switch {
	case w.seq < head:
		w.addFinding(w.seq+1, "entries %d to %d are missing: the end was cut off", w.seq+1, head)
	case w.seq > head || !w.link.Equal(link):
		w.addFinding(head, "the chain's end does not belong to the last entry, %d", w.seq)
	}
}
