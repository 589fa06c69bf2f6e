package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/controlplane"
)

// Credential is a token's name with the key that proves it.
type Credential struct {
	Kid string
	Key wire.Key
}

// tellWithin is how long an agent may take to store and confirm a refusal.
const tellWithin = 10 * time.Second

// tryDeliver is deliverRevocations for a caller that has another error to report.
func (f *Fleet) tryDeliver(ctx context.Context, link NodeLink, epoch int64) {
	if len(link.Refuse) == 0 {
		return
	}
	if err := f.deliverRevocations(ctx, link, epoch); err != nil {
		f.Log.DebugContext(ctx, "revocation not delivered yet", "node", link.Node.Name,
			"error", err)
	}
}

// deliverRevocations has an agent refuse the tokens that were revoked while it was
// offline. It may know no other token yet, so we connect once with each revoked one
// and send only this message: no goal and no secret. After a crash the token is still
// pending, and the next try sends the message again.
func (f *Fleet) deliverRevocations(ctx context.Context, link NodeLink, epoch int64) error {
	revoked, err := f.Nodes.ListRevokedTokens(ctx, link.Node.ID)
	if err != nil {
		return err
	}
	for _, c := range revoked {
		if err := f.deliverOne(ctx, link, epoch, c); err != nil {
			return fmt.Errorf("revoke token %s: %w", c.Kid, err)
		}
	}
	return nil
}

func (f *Fleet) deliverOne(ctx context.Context, link NodeLink, epoch int64, c Credential) error {
	link.Kid, link.Key = c.Kid, c.Key
	config, err := f.Dial.dialConfig(link, epoch)
	if err != nil {
		return err
	}
	proven, err := wire.Dial(ctx, config)
	if errors.Is(err, wire.ErrRefused) && !config.Thumbprint.IsZero() &&
		!errors.Is(err, wire.ErrStaleEpoch) && !errors.Is(err, wire.ErrOtherNode) {
		// The certificate is the trusted one, so this refusal comes from our agent: it
		// received the message before, or never had the token.
		return f.recordTokenRefusal(ctx, link.Node.ID, c.Kid)
	}
	if err != nil {
		return err
	}
	conn, err := wire.OpenSession(ctx, proven)
	if err != nil {
		return err
	}
	defer conn.Close(wire.CodeRevoked, "token "+c.Kid+" was rotated or revoked")
	return f.sendRevocation(ctx, conn, link.Node.ID, c.Kid)
}

// sendRevocation sends the message and waits for its confirmation; other messages from
// the agent are ignored.
func (f *Fleet) sendRevocation(
	ctx context.Context, conn *wire.Session, id controlplane.NodeID, kid string,
) error {
	ctx, cancel := context.WithTimeout(ctx, tellWithin)
	defer cancel()
	if err := conn.Send(ctx, wire.RefuseToken{Kid: kid}); err != nil {
		return err
	}
	for {
		r, err := conn.Receive(ctx)
		if err != nil {
			return err
		}
		if said, ok := r.(wire.TokenRefused); ok && said.Kid == kid {
			return f.recordTokenRefusal(ctx, id, kid)
		}
	}
}

func (f *Fleet) recordTokenRefusal(ctx context.Context, id controlplane.NodeID, kid string) error {
	f.Log.InfoContext(ctx, "the agent refuses a revoked token from now on", "node_id", id, "kid", kid)
	return f.Nodes.ConfirmRevocation(ctx, id, kid)
}
