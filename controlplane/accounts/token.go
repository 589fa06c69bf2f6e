package accounts

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// tokenStart makes our tokens easy to find where they should not be.
const tokenStart = "nop_"

// longestToken bounds how long a token may last, if it is to end at all.
const longestToken = 10 * 365 * 24 * time.Hour

// TokenRequest is what a token is to be.
type TokenRequest struct {
	Name string
	// Scope is how far it reaches; empty is as far as its user.
	Scope controlplane.TokenScope
	// Lasts ends it by itself; zero is until it is revoked.
	Lasts time.Duration
	// Key is the idempotency key; it may be empty.
	Key string
}

func (r TokenRequest) check() error {
	switch {
	case r.Name == "" || len(r.Name) > 100:
		return controlplane.NewInvalidError("name", "token_name",
			"a token's name has 1 to 100 bytes",
			"Say where the token is used.")
	case r.Scope != "" && r.Scope != controlplane.ScopeRead && r.Scope != controlplane.ScopeFull:
		return controlplane.NewInvalidError("scope", "token_scope", "there is no such scope",
			"Choose read or full.")
	case r.Lasts < 0 || r.Lasts > longestToken:
		return controlplane.NewInvalidError("expires_in_days", "token_expiry",
			"a token lasts 1 to 3650 days",
			"Give a number of days, or none.")
	}
	return nil
}

// CreateToken proves a password, and a second factor if there is one, and makes an API token for
// that person, returned this once: nop_<prefix>_<secret>_<checksum>. The checksum lets a
// scanner tell a leaked token from text that looks like one.
func (a *Accounts) CreateToken(
	ctx context.Context, actor access.Actor, l Login, r TokenRequest,
) (controlplane.APIToken, controlplane.Plain, error) {
	if err := r.check(); err != nil {
		return controlplane.APIToken{}, controlplane.Plain{}, err
	}
	u, needs, err := a.checkLogin(ctx, actor, l)
	if err == nil && needs {
		err = access.FactorError()
	}
	if err != nil {
		return controlplane.APIToken{}, controlplane.Plain{}, err
	}
	e := access.User(u.User, nil).
		WithOrigin(actor.RemoteAddress(), actor.Request()).
		NewAuditEntry("create token", "")
	return a.makeToken(ctx, actor, e, u.ID, r)
}

// CreateOwnToken creates a token for the signed-in person. Tokens cannot create
// tokens, so that a leaked one ends with its expiry.
func (a *Accounts) CreateOwnToken(
	ctx context.Context, actor access.Actor, r TokenRequest,
) (t controlplane.APIToken, value controlplane.Plain, err error) {
	if err := access.Check(actor, access.Self, access.Object{}); err != nil {
		return t, value, err
	}
	if err := r.check(); err != nil {
		return t, value, err
	}
	e := actor.NewAuditEntry("create token", "")
	if actor.LacksFactor() {
		return t, value, a.auditRefusal(ctx, e, access.FactorError())
	}
	if actor.Session() == "" {
		return t, value, a.auditRefusal(ctx, e, &controlplane.Error{
			Kind: controlplane.Forbidden, Code: "session_needed",
			Message: "a token makes no other tokens",
			Remedy:  "Sign in with a browser, or with nullops login.",
		})
	}
	return a.makeToken(ctx, actor, e, actor.UserID(), r)
}

// CreateTokenOf makes a token for a service user.
func (a *Accounts) CreateTokenOf(
	ctx context.Context, actor access.Actor, name string, r TokenRequest,
) (t controlplane.APIToken, value controlplane.Plain, err error) {
	e := actor.NewAuditEntry("create token", "user "+name)
	u, err := a.serviceUser(ctx, actor, name)
	if err == nil {
		err = r.check()
	}
	if err != nil {
		return t, value, a.auditRefusal(ctx, e, err)
	}
	return a.makeToken(ctx, actor, e, u.ID, r)
}

// serviceUser returns a service user, for which admins may create tokens. A person's token can only
// be created by the person: a token acts as its user.
func (a *Accounts) serviceUser(
	ctx context.Context, actor access.Actor, name string,
) (u controlplane.User, err error) {
	u, err = a.GetUser(ctx, actor, name)
	if err != nil {
		return u, err
	}
	if u.Kind != controlplane.KindService {
		return u, &controlplane.Error{
			Kind: controlplane.Conflict, Code: "not_a_service_user",
			Message: name + " is a person and makes tokens alone",
			Remedy:  "Make a service user for the program.",
		}
	}
	return u, nil
}

// makeToken stores a token of the user. The entry gets its object.
func (a *Accounts) makeToken(
	ctx context.Context, actor access.Actor, e *controlplane.AuditEntry,
	user controlplane.UserID, r TokenRequest,
) (controlplane.APIToken, controlplane.Plain, error) {
	t := controlplane.APIToken{
		ID: controlplane.NewID[controlplane.TokenID](), User: user, Name: r.Name,
		Prefix: randomText(10), CreatedAt: a.now(), Scope: cmp.Or(r.Scope, controlplane.ScopeFull),
	}
	if r.Lasts > 0 {
		end := t.CreatedAt.Add(r.Lasts)
		t.ExpiresAt = &end
	}
	secret := randomBits()
	e.Object = strings.TrimSpace("token " + t.Prefix + " " + e.Object)
	err := a.store.InAuditedTx(ctx, e, func(tx *postgres.Tx) error {
		err := createOnce(ctx, tx, actor, creation{operation: "token of " + string(user), key: r.Key,
			request: r, made: string(t.ID)})
		if err != nil {
			return err
		}
		u, err := tx.Users().ByID(ctx, user)
		if err != nil {
			return err
		}
		err = a.queueSecurityMail(ctx, tx, *e, u.User, u.Address, "A new API token of yours was made")
		if err != nil {
			return err
		}
		return tx.APITokens().Insert(ctx, t, sha256.Sum256([]byte(secret)))
	})
	if err != nil {
		return controlplane.APIToken{}, controlplane.Plain{}, err
	}
	value := tokenStart + t.Prefix + "_" + secret
	return t, controlplane.NewPlain(value + "_" + tokenChecksum(value)), nil
}

// ListTokensOf returns a user's tokens: names and last use, never the secrets.
func (a *Accounts) ListTokensOf(
	ctx context.Context, actor access.Actor, name string,
) (all []controlplane.APIToken, err error) {
	u, err := a.GetUser(ctx, actor, name)
	if err != nil {
		return nil, err
	}
	err = a.store.Read(ctx, func(tx *postgres.Tx) (err error) {
		all, err = tx.APITokens().List(ctx, u.ID)
		return err
	})
	return all, err
}

// DeleteTokenOf revokes anybody's token.
func (a *Accounts) DeleteTokenOf(
	ctx context.Context, actor access.Actor, name string, id controlplane.TokenID,
) error {
	u, err := a.GetUser(ctx, actor, name)
	if err != nil {
		return err
	}
	if !controlplane.ValidID(string(id)) {
		return controlplane.NewNotFoundError("token", string(id))
	}
	e := actor.NewAuditEntry("delete token", fmt.Sprintf("token %s user %s", id, name))
	return a.store.InAuditedTx(ctx, e, func(tx *postgres.Tx) error {
		tx.NotifyOnCommit(controlplane.TopicAccess, "")
		return tx.APITokens().Delete(ctx, u.ID, id)
	})
}

// revokeTokens deletes all API tokens of a user with one audit entry for each,
// so that the owner of a program that stops finds out why. e says who did it.
func revokeTokens(
	ctx context.Context, tx *postgres.Tx, e controlplane.AuditEntry, u controlplane.User,
	why string,
) error {
	all, err := tx.APITokens().List(ctx, u.ID)
	if err != nil || len(all) == 0 {
		return err
	}
	if err := tx.APITokens().DeleteOf(ctx, u.ID); err != nil {
		return err
	}
	e.Action, e.Result, e.Detail = "delete token", controlplane.AuditOK, why
	for _, t := range all {
		e.Object = fmt.Sprintf("token %s user %s", t.ID, u.Name)
		if err := tx.Audit().Insert(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// tokenChecksum is no protection; it only detects mistyped tokens.
func tokenChecksum(value string) string {
	sum := sha256.Sum256([]byte(value))
	return hex.EncodeToString(sum[:3])
}

// findToken looks the public part up and compares the secret part's hash in
// constant time.
func findToken(
	ctx context.Context, tx *postgres.Tx, value string,
) (controlplane.APIToken, error) {
	end := strings.LastIndexByte(value, '_')
	if end < 0 || len(value) > 200 || value[end+1:] != tokenChecksum(value[:end]) {
		return controlplane.APIToken{}, unauthenticatedError()
	}
	rest, ours := strings.CutPrefix(value[:end], tokenStart)
	prefix, secret, whole := strings.Cut(rest, "_")
	if !ours || !whole {
		return controlplane.APIToken{}, unauthenticatedError()
	}
	t, hash, ok, err := tx.APITokens().ByPrefix(ctx, prefix)
	if err != nil {
		return t, err
	}
	sum := sha256.Sum256([]byte(secret))
	if !ok || !sameHash(hash, sum[:]) {
		return controlplane.APIToken{}, unauthenticatedError()
	}
	return t, nil
}

// ListTokens returns the actor's own tokens, oldest first.
func (a *Accounts) ListTokens(
	ctx context.Context, actor access.Actor,
) (all []controlplane.APIToken, err error) {
	if err := access.Check(actor, access.Self, access.Object{}); err != nil {
		return nil, err
	}
	err = a.store.Read(ctx, func(tx *postgres.Tx) (err error) {
		all, err = tx.APITokens().List(ctx, actor.UserID())
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
		return controlplane.NewNotFoundError("token", string(id))
	}
	e := actor.NewAuditEntry("delete token", fmt.Sprintf("token %s", id))
	return a.store.InAuditedTx(ctx, e, func(tx *postgres.Tx) error {
		tx.NotifyOnCommit(controlplane.TopicAccess, "")
		return tx.APITokens().Delete(ctx, actor.UserID(), id)
	})
}
