package fleet

import (
	"context"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/controlplane"
)

// tellEvery is how often agents are sent the audit chain's head. Entries up to the
// head that was sent last cannot be rewritten unnoticed, even with the database and
// the key.
const tellEvery = 5 * time.Minute

// broadcastAuditHead sends the audit chain's head to all agents. All get the same one,
// so that comparing their heads is cheap when all reconnect at once.
func (r *sessionSet) broadcastAuditHead(ctx context.Context) error {
	ticker := time.NewTicker(tellEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if r.readAuditHead(ctx) {
			for _, s := range r.list() {
				s.sendAuditHead(ctx)
			}
		}
	}
}

// readAuditHead reads the head that is sent from now on.
func (r *sessionSet) readAuditHead(ctx context.Context) bool {
	head, ok, err := r.Journal.CurrentHead(ctx, r.actor)
	if err != nil {
		r.Log.WarnContext(ctx, "the end of the audit could not be read", "error", err)
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.end = nil; ok {
		r.end = &wire.AuditHead{Seq: head.Seq, Link: head.Link[:], At: head.At}
	} else if head.Seq > 0 {
		r.Log.ErrorContext(ctx, "the audit is another one than before; agents keep what they "+
			"remember: see nullops audit verify")
	}
	return ok
}

// compareAuditHeads compares the audit heads that the agent remembers with the chain,
// and sends it the current one. An agent that remembers another chain gets no new
// head: what it has is the evidence.
func (s *session) compareAuditHeads(ctx context.Context, w wire.Welcome) error {
	if w.Audit == nil {
		return nil
	}
	node := s.link.Node
	holds, err := s.Journal.CompareHeads(ctx, s.actor, node.ID, node.Name, validAuditHeads(w.Audit))
	if err != nil {
		return s.mayFail(ctx, "what the agent remembers of the audit", err)
	}
	if !holds {
		s.Log.ErrorContext(ctx, "the agent remembers another audit: entries were cut off or "+
			"written anew, see nullops audit verify", "node", node.Name)
		return nil
	}
	s.mu.Lock()
	s.witness = true
	s.mu.Unlock()
	s.roster.mu.Lock()
	known := s.roster.end != nil
	s.roster.mu.Unlock()
	if known || s.roster.readAuditHead(ctx) {
		s.sendAuditHead(ctx)
	}
	return nil
}

// validAuditHeads leaves out what has not the form of a link: an agent may say anything.
func validAuditHeads(from []wire.AuditHead) []controlplane.AuditHead {
	all := make([]controlplane.AuditHead, 0, len(from))
	for _, h := range from {
		head := controlplane.AuditHead{Seq: h.Seq, At: h.At}
		if copy(head.Link[:], h.Link) == len(h.Link) && len(h.Link) == len(head.Link) &&
			len(all) < mostHeads {
			all = append(all, head)
		}
	}
	return all
}

// mostHeads bounds what one agent can say; ours remember sixteen.
const mostHeads = 64

// sendAuditHead sends the head. A failure is only logged, since it is sent again
// later.
func (s *session) sendAuditHead(ctx context.Context) {
	s.mu.Lock()
	witness := s.witness
	s.mu.Unlock()
	s.roster.mu.Lock()
	end := s.roster.end
	s.roster.mu.Unlock()
	if !witness || end == nil {
		return
	}
	if err := s.conn.Send(ctx, wire.Witness{Head: *end}); err != nil && ctx.Err() == nil {
		s.Log.DebugContext(ctx, "the end of the audit was not told", "node", s.link.Node.Name,
			"error", err)
	}
}
