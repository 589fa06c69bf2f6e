package accounts

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// creation is a request that creates something with a key.
type creation struct {
	operation, key string
	// request is all that was asked for, made what it created.
	request any
	made    string
}

// createOnce makes a create with a key happen once a day. The created secret was shown once, so
// repeating the request is refused instead of answered.
func createOnce(ctx context.Context, tx *postgres.Tx, actor access.Actor, c creation) error {
	if c.key == "" || actor.UserID() == "" {
		return nil
	}
	digest := sha256.Sum256(fmt.Appendf(nil, "%+v", c.request))
	before, err := tx.IdempotencyKeys().FindObject(ctx, actor.UserID(), c.operation, c.key, digest)
	if err != nil {
		return err
	}
	if before == "" {
		return tx.IdempotencyKeys().RecordResult(ctx, actor.UserID(), c.operation, c.key, digest,
			c.made)
	}
	return &controlplane.Error{
		Kind: controlplane.Conflict, Code: "already_created", Field: "Idempotency-Key",
		Message: "this request was answered before: it made " + before,
		Remedy:  "What it made was shown once. Revoke that one and use a new key.",
	}
}

// KeyUse is one request with a key.
type KeyUse struct {
	Operation string
	Key       string
	// Request is a digest of all that was asked for.
	Request [32]byte
}

// StoredResponse is how a request was answered. The body is empty where it showed what
// is shown once.
type StoredResponse struct {
	Status int
	Body   []byte
}

// RunOnce does what a request asks for, unless the same person sent the same one
// with the same key within a day: then before is how that one was answered. The
// key of a request whose process died in the middle is free again a minute later.
func (a *Accounts) RunOnce(
	ctx context.Context, actor access.Actor, u KeyUse, do func() StoredResponse,
) (before *StoredResponse, err error) {
	if err := access.Check(actor, access.Self, access.Object{}); err != nil {
		return nil, err
	}
	use := postgres.KeyUse{User: actor.UserID(), Operation: u.Operation, Key: u.Key,
		Request: u.Request, Claim: controlplane.NewID[postgres.ClaimID]()}
	var was postgres.StoredResponse
	var claimed bool
	err = a.store.InTx(ctx, func(tx *postgres.Tx) (err error) {
		was, claimed, err = tx.IdempotencyKeys().Claim(ctx, use)
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case claimed:
		a.storeAnswer(ctx, use, a.runHoldingKey(ctx, use, do))
		return nil, nil
	case was.Status == 0:
		return nil, underWay()
	}
	return &StoredResponse{Status: was.Status, Body: was.Body}, nil
}

// holdEvery renews a key's minute often enough that two renewals may fail.
const holdEvery = 15 * time.Second

// runHoldingKey runs a request, and extends its claim on the idempotency key
// meanwhile.
func (a *Accounts) runHoldingKey(
	ctx context.Context,
	use postgres.KeyUse,
	do func() StoredResponse,
) StoredResponse {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var held sync.WaitGroup
	held.Go(func() { a.renewKey(ctx, use) })
	defer held.Wait()
	defer cancel()
	return do()
}

func (a *Accounts) renewKey(ctx context.Context, use postgres.KeyUse) {
	tick := time.NewTicker(holdEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if !a.stillHeld(ctx, use) {
			return
		}
	}
}

// stillHeld extends the claim by a minute. One failure is harmless; a key that another
// request claimed is lost.
func (a *Accounts) stillHeld(ctx context.Context, use postgres.KeyUse) bool {
	held := true
	err := a.store.InTx(ctx, func(tx *postgres.Tx) (err error) {
		held, err = tx.IdempotencyKeys().ExtendClaim(ctx, use)
		return err
	})
	switch {
	case ctx.Err() != nil:
		return false
	case err != nil:
		a.log.WarnContext(ctx, "a request's key could not be held", "error", err)
		return true
	case !held:
		a.log.WarnContext(ctx, "a request slept for so long that its key is another's",
			"operation", use.Operation)
	}
	return held
}

// keepWithin is for keeping an answer whose asker has left.
const keepWithin = 5 * time.Second

// storeAnswer only logs a failure: the request was done, and an error would make the
// client repeat it.
func (a *Accounts) storeAnswer(ctx context.Context, use postgres.KeyUse, made StoredResponse) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepWithin)
	defer cancel()
	err := a.store.InTx(ctx, func(tx *postgres.Tx) error {
		if made.Status >= http.StatusMultipleChoices {
			return tx.IdempotencyKeys().Release(ctx, use)
		}
		return tx.IdempotencyKeys().StoreResponse(ctx, use,
			postgres.StoredResponse{Status: made.Status, Body: made.Body})
	})
	if err != nil {
		a.log.ErrorContext(ctx, "how a request with a key was answered could not be kept",
			"operation", use.Operation, "error", err)
	}
}

func underWay() error {
	return &controlplane.Error{
		Kind: controlplane.Conflict, Code: "idempotency_key_under_way", Field: "Idempotency-Key",
		Message:    "a request with this key is under way, or was cut off",
		Remedy:     "Ask again. The key of a request that was cut off is free after a minute.",
		RetryAfter: time.Second,
	}
}
