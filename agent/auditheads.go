package agent

import (
	"bytes"
	"context"
	"slices"

	"github.com/nullops/nullops/agent/wire"
)

// maxAuditHeads is how many heads of the audit chain are remembered. Several show at which
// point a rewritten history departs from the original.
const maxAuditHeads = 16

// queueHead passes the newest head to storeHeads: a session must never block on the disk.
func (ss *sessions) queueHead(h wire.AuditHead) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	select {
	case <-ss.witnessed:
	default:
	}
	ss.witnessed <- h
}

func (ss *sessions) storeHeads(ctx context.Context) error {
	for {
		select {
		case h := <-ss.witnessed:
			if err := ss.state.rememberHead(h); err != nil {
				ss.log.Error("the end of the audit cannot be stored", "error", err)
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// rememberHead stores a head of the audit chain. It cannot verify it: only the control plane has
// the entries that the head covers.
func (s *state) rememberHead(h wire.AuditHead) error {
	return s.updateFile(func(f *stateFile) bool {
		if n := len(f.Audit); n > 0 && f.Audit[n-1].Seq == h.Seq &&
			bytes.Equal(f.Audit[n-1].Link, h.Link) {
			return false
		}
		f.Audit = thinHeads(append(slices.Clone(f.Audit), h))
		return true
	})
}

// thinHeads removes every second head of the older half when there are too many, so that
// some old heads and all recent ones remain.
func thinHeads(all []wire.AuditHead) []wire.AuditHead {
	if len(all) <= maxAuditHeads {
		return all
	}
	half := len(all) / 2
	var rest []wire.AuditHead
	for i, h := range all {
		if i >= half || i%2 == 0 {
			rest = append(rest, h)
		}
	}
	return rest
}

// auditHeads returns the remembered heads; never nil, which would say that this agent
// cannot remember any.
func (s *state) auditHeads() []wire.AuditHead {
	return append([]wire.AuditHead{}, s.currentFile().Audit...)
}
