package accounts

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// once makes a create with a key happen once a day. What was made is a secret
// that was shown once, so that asking again is refused instead of answered.
func once(ctx context.Context, tx *postgres.Tx, actor access.Actor,
	operation, key string, request any, made string) error {
	if key == "" || actor.UserID() == "" {
		return nil
	}
	digest := sha256.Sum256(fmt.Appendf(nil, "%+v", request))
	before, err := tx.Idempotent(ctx, actor.UserID(), operation, key, digest)
	if err != nil {
		return err
	}
	if before == "" {
		return tx.RememberKey(ctx, actor.UserID(), operation, key, digest, made)
	}
	return &controlplane.Error{
		Kind: controlplane.Conflict, Code: "already_created", Field: "Idempotency-Key",
		Message: "this request was answered before: it made " + before,
		Remedy:  "What it made was shown once. Revoke that one and use a new key.",
	}
}
