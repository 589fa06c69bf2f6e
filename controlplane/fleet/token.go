package fleet

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/controlplane"
)

// errRevoked ends a session whose token is no longer good.
var errRevoked = errors.New("its token was rotated or revoked: give the agent the new one")

// errSwitched ends a session whose node was disabled and enabled faster than
// anybody looked: only a new session makes it online again.
var errSwitched = errors.New("an admin switched the node off and on")

// checkToken has the agent refuse revoked tokens, on its own disk, before the
// session that used one is cut.
func (s *session) checkToken(ctx context.Context) error {
	link, err := s.Nodes.GetLink(ctx, s.link.Node.ID)
	if err != nil {
		return nil
	}
	for _, kid := range link.Refuse {
		if err := s.requestTokenRefusal(ctx, kid); err != nil {
			return err
		}
	}
	if link.Kid != s.link.Kid || slices.Contains(link.Refuse, s.link.Kid) {
		return errRevoked
	}
	if link.Node.Status != controlplane.NodeOnline {
		return errSwitched
	}
	return nil
}

// requestTokenRefusal waits two seconds for the agent's word, and tries again later if it
// does not come.
func (s *session) requestTokenRefusal(ctx context.Context, kid string) error {
	if err := s.conn.Send(ctx, wire.RefuseToken{Kid: kid}); err != nil {
		return err
	}
	timeout := time.NewTimer(2 * time.Second)
	defer timeout.Stop()
	for {
		select {
		case confirmed := <-s.refused:
			if confirmed != kid {
				continue
			}
			return s.Nodes.ConfirmRevocation(ctx, s.link.Node.ID, kid)
		case <-timeout.C:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
