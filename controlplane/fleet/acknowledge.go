package fleet

import (
	"context"
	"errors"

	"github.com/nullops/nullops/agent/wire"
)

// errReportsLost ends a session whose database went back, as after a failover to a replica that
// lost the end: the next session has the agent send again what is missing.
var errReportsLost = errors.New("the database lost reports that were acknowledged")

// acknowledge tells the agent which reports are committed.
func (s *session) acknowledge(ctx context.Context, seq int64) error {
	s.mu.Lock()
	s.acked = seq
	s.mu.Unlock()
	return s.conn.Send(ctx, wire.Ack{Seq: seq})
}

func (s *session) lastAcknowledged() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.acked
}
