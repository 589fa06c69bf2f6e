package postgres

import (
	"context"
	"fmt"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
	"github.com/nullops/nullops/pipeline"
)

// Put stores a ticket, and deletes expired ones.
func (t ReachTickets) Put(ctx context.Context, r controlplane.ReachTicket) error {
	if err := t.q.ForgetReachTickets(ctx); err != nil {
		return fmt.Errorf("forget tickets: %w", err)
	}
	err := t.q.PutReachTicket(ctx, dbsqlc.PutReachTicketParams{Digest: r.Digest,
		UserID: string(r.User), Credential: r.Credential, DeploymentID: string(r.Deployment),
		Step: string(r.Step), Kind: string(r.Kind), Port: int32(r.Port), ExpiresAt: r.ExpiresAt})
	if err != nil {
		return fmt.Errorf("put ticket: %w", translateError(err))
	}
	return nil
}

// Take consumes a ticket; only the first caller gets it.
func (t ReachTickets) Take(
	ctx context.Context, digest []byte,
) (controlplane.ReachTicket, error) {
	r, err := t.q.TakeReachTicket(ctx, digest)
	if err != nil {
		return controlplane.ReachTicket{}, translateMissing(err, "ticket", "")
	}
	return controlplane.ReachTicket{Digest: r.Digest, User: controlplane.UserID(r.UserID),
		Credential: r.Credential,
		Deployment: controlplane.DeploymentID(r.DeploymentID), Step: pipeline.StepKey(r.Step),
		Kind: controlplane.ReachKind(r.Kind), Port: int(r.Port), ExpiresAt: r.ExpiresAt}, nil
}
