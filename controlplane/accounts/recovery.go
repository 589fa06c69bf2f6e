package accounts

import (
	"context"
	"crypto/sha256"
	"strings"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

const (
	recoveryCodes = 8
	// recoveryLength characters of 31 are 118 bits: a hash of them needs no more work than
	// SHA-256 to be safe from guessing.
	recoveryLength = 24
	recoveryGroup  = 4
)

// replaceRecoveryCodes makes codes that are shown this once.
func (a *Accounts) replaceRecoveryCodes(
	ctx context.Context, tx *postgres.Tx, user controlplane.UserID,
) ([]controlplane.Plain, error) {
	codes := make([]controlplane.Plain, recoveryCodes)
	hashes := make([][32]byte, recoveryCodes)
	for i := range codes {
		text := randomText(recoveryLength)
		hashes[i] = sha256.Sum256([]byte(text))
		var groups []string
		for at := 0; at < len(text); at += recoveryGroup {
			groups = append(groups, text[at:at+recoveryGroup])
		}
		codes[i] = controlplane.NewPlain(strings.Join(groups, "-"))
	}
	return codes, tx.Factors().ReplaceRecoveryCodes(ctx, user, hashes)
}

// CreateRecoveryCodes replaces all recovery codes of the signed-in person, who has a second
// factor.
func (a *Accounts) CreateRecoveryCodes(
	ctx context.Context, actor access.Actor,
) (codes []controlplane.Plain, err error) {
	e := actor.NewAuditEntry("create recovery codes", "user "+actor.Name())
	err = a.store.InAuditedTx(ctx, e, func(tx *postgres.Tx) error {
		if err := checkOwnSession(actor); err != nil {
			return err
		}
		need, err := tx.Factors().Need(ctx, actor.UserID())
		if err != nil {
			return err
		}
		if !need.Has {
			return controlplane.NewConflictError("no_second_factor",
				"recovery codes are for the day a second factor is lost, and there is none",
				"Add a passkey or an authenticator app first.")
		}
		err = a.queueSecurityMail(ctx, tx, *e, actor.Person(), actor.Person().Address,
			"New recovery codes of yours were made")
		if err != nil {
			return err
		}
		codes, err = a.replaceRecoveryCodes(ctx, tx, actor.UserID())
		return err
	})
	return codes, err
}

// useRecoveryCode uses a code up, and says so to its owner.
func (a *Accounts) useRecoveryCode(
	ctx context.Context, tx *postgres.Tx, actor access.Actor, u controlplane.User, code string,
) (bool, error) {
	ok, err := tx.Factors().UseRecoveryCode(ctx, u.ID, sha256.Sum256([]byte(code)))
	if err != nil || !ok {
		return false, err
	}
	e := access.User(u, nil).WithOrigin(actor.RemoteAddress(), actor.Request()).
		NewAuditEntry("use recovery code", "user "+u.Name)
	e.Result = controlplane.AuditOK
	if err := tx.Audit().Insert(ctx, *e); err != nil {
		return false, err
	}
	return true, a.queueSecurityMail(ctx, tx, *e, u, u.Address, "A recovery code of yours was used")
}
