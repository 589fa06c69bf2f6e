package accounts

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

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

// KeyUse is one request with a key.
type KeyUse struct {
	Operation string
	Key       string
	// Request is a digest of all that was asked for.
	Request [32]byte
}

// Answer is how a request was answered. The body is empty where it showed what
// is shown once.
type Answer struct {
	Status int
	Body   []byte
}

// Once does what a request asks for, unless the same person sent the same one
// with the same key within a day: then before is how that one was answered. The
// key of a request whose process died in the middle is free again a minute later.
func (a *Accounts) Once(
	ctx context.Context, actor access.Actor, u KeyUse, do func() Answer,
) (before *Answer, err error) {
	if err := access.Check(actor, access.Self, access.Object{}); err != nil {
		return nil, err
	}
	use := postgres.KeyUse{User: actor.UserID(), Operation: u.Operation, Key: u.Key,
		Request: u.Request}
	var was postgres.KeptAnswer
	var claimed bool
	err = a.store.InTx(ctx, func(tx *postgres.Tx) (err error) {
		was, claimed, err = tx.ClaimKey(ctx, use)
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case claimed:
		return nil, a.keep(ctx, use, a.holding(ctx, use, do))
	case was.Status == 0:
		return nil, underWay()
	}
	return &Answer{Status: was.Status, Body: was.Body}, nil
}

// holdEvery renews a key's minute often enough that two renewals may fail.
const holdEvery = 15 * time.Second

// holding does what a request asks for, however long it takes, and says all the
// while that it is under way.
func (a *Accounts) holding(ctx context.Context, use postgres.KeyUse, do func() Answer) Answer {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var held sync.WaitGroup
	held.Go(func() { a.hold(ctx, use) })
	defer held.Wait()
	defer cancel()
	return do()
}

func (a *Accounts) hold(ctx context.Context, use postgres.KeyUse) {
	tick := time.NewTicker(holdEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := a.store.InTx(ctx, func(tx *postgres.Tx) error { return tx.HoldKey(ctx, use) })
		if err != nil && ctx.Err() == nil {
			a.log.WarnContext(ctx, "a request's key could not be held", "error", err)
		}
	}
}

// keepWithin is for keeping an answer whose asker has left.
const keepWithin = 5 * time.Second

func (a *Accounts) keep(ctx context.Context, use postgres.KeyUse, made Answer) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepWithin)
	defer cancel()
	err := a.store.InTx(ctx, func(tx *postgres.Tx) error {
		if made.Status >= http.StatusMultipleChoices {
			return tx.FreeKey(ctx, use)
		}
		return tx.KeepAnswer(ctx, use, postgres.KeptAnswer{Status: made.Status, Body: made.Body})
	})
	if err != nil {
		return errors.Join(errors.New("it was done, but how it was answered could not be kept"), err)
	}
	return nil
}

func underWay() error {
	return &controlplane.Error{
		Kind: controlplane.Conflict, Code: "idempotency_key_under_way", Field: "Idempotency-Key",
		Message:    "a request with this key is under way, or was cut off",
		Remedy:     "Ask again. The key of a request that was cut off is free after a minute.",
		RetryAfter: time.Second,
	}
}
