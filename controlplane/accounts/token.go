package accounts

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// tokenStart makes our tokens easy to find where they should not be.
const tokenStart = "nop_"

// CreateToken proves a password and makes an API token for that person,
// returned this once: nop_<prefix>_<secret>.
func (a *Accounts) CreateToken(
	ctx context.Context, actor access.Actor, user string, password controlplane.Plain, name string,
) (controlplane.APIToken, controlplane.Plain, error) {
	if name == "" || len(name) > 100 {
		return controlplane.APIToken{}, controlplane.Plain{}, invalid("name", "token_name",
			"a token's name has 1 to 100 bytes", "Say where the token is used.")
	}
	u, err := a.prove(ctx, actor, user, password)
	if err != nil {
		return controlplane.APIToken{}, controlplane.Plain{}, err
	}
	t := controlplane.APIToken{
		ID: controlplane.NewID[controlplane.TokenID](), User: u.ID, Name: name,
		Prefix: randomText(10), CreatedAt: a.now(),
	}
	secret := randomBits()
	e := access.User(u.User, nil).Via(actor.From(), actor.Request()).
		Entry("create token", "token "+t.Prefix)
	err = a.store.Audited(ctx, e, func(tx *postgres.Tx) error {
		return tx.InsertToken(ctx, t, sha256.Sum256([]byte(secret)))
	})
	if err != nil {
		return controlplane.APIToken{}, controlplane.Plain{}, err
	}
	return t, controlplane.NewPlain(tokenStart + t.Prefix + "_" + secret), nil
}

// findToken looks the public part up and compares the secret part's hash in
// constant time.
func findToken(
	ctx context.Context, tx *postgres.Tx, value string,
) (controlplane.APIToken, error) {
	rest, ours := strings.CutPrefix(value, tokenStart)
	prefix, secret, whole := strings.Cut(rest, "_")
	if !ours || !whole || len(value) > 200 {
		return controlplane.APIToken{}, unauthenticated()
	}
	t, hash, ok, err := tx.TokenByPrefix(ctx, prefix)
	if err != nil {
		return t, err
	}
	sum := sha256.Sum256([]byte(secret))
	if !ok || !sameHash(hash, sum[:]) {
		return controlplane.APIToken{}, unauthenticated()
	}
	return t, nil
}

// ListTokens gives the actor's own tokens, oldest first.
func (a *Accounts) ListTokens(
	ctx context.Context, actor access.Actor,
) (all []controlplane.APIToken, err error) {
	if err := access.Check(actor, access.Self, access.Object{}); err != nil {
		return nil, err
	}
	err = a.store.Read(ctx, func(tx *postgres.Tx) (err error) {
		all, err = tx.ListTokens(ctx, actor.UserID())
		return err
	})
	return all, err
}

// DeleteToken revokes one of the actor's own tokens.
func (a *Accounts) DeleteToken(
	ctx context.Context, actor access.Actor, id controlplane.TokenID,
) error {
	if err := access.Check(actor, access.Self, access.Object{}); err != nil {
		return err
	}
	if !controlplane.ValidID(string(id)) {
		return controlplane.Missing("token", string(id))
	}
	e := actor.Entry("delete token", fmt.Sprintf("token %s", id))
	return a.store.Audited(ctx, e, func(tx *postgres.Tx) error {
		tx.Wake(controlplane.TopicAccess, "")
		return tx.DeleteToken(ctx, actor.UserID(), id)
	})
}

func invalid(field, code, message, remedy string) error {
	return &controlplane.Error{
		Kind: controlplane.Invalid, Code: code, Field: field, Message: message, Remedy: remedy,
	}
}
