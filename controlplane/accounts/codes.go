package accounts

import (
	"context"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// Login is what a person types to sign in.
type Login struct {
	User     string
	Password controlplane.Plain
	// Code is of an authenticator app, or a recovery code; people without a second factor
	// leave it empty.
	Code controlplane.Plain
}

// checkLogin checks a password, and the code of a person who has a second factor. A person who
// must have one and has none gets in, to add it: needs says so.
func (a *Accounts) checkLogin(
	ctx context.Context, actor access.Actor, l Login,
) (u postgres.UserWithHash, needs bool, err error) {
	u, err = a.checkPassword(ctx, actor, l.User, l.Password)
	if err != nil {
		return u, false, err
	}
	var need controlplane.FactorNeed
	err = a.store.Read(ctx, func(tx *postgres.Tx) (err error) {
		need, err = tx.Factors().Need(ctx, u.ID)
		return err
	})
	switch {
	case err != nil:
		return u, false, err
	case !need.Has:
		return u, a.requiresFactor(u.User, need), nil
	case l.Code.IsEmpty():
		return u, false, factorRequired()
	default:
		return u, false, a.checkCode(ctx, actor, u.User, l.Code, "sign in")
	}
}

// factorRequired is no failed attempt: the password was right.
func factorRequired() error {
	return &controlplane.Error{
		Kind: controlplane.Unauthenticated, Code: "second_factor_required", Field: "code",
		Message: "this account has a second factor",
		Remedy: "Send a code of your authenticator app or a recovery code too, or sign in with " +
			"a passkey in a browser.",
	}
}

// checkCode checks the code of an authenticator app, or a recovery code, and uses it up. A failure
// is in the audit as one of the action.
func (a *Accounts) checkCode(ctx context.Context, actor access.Actor, u controlplane.User,
	code controlplane.Plain, action string) error {
	refund, err := a.allowCode(actor, u.Name)
	if err != nil {
		return err
	}
	ok := false
	err = a.store.InTx(ctx, func(tx *postgres.Tx) (err error) {
		ok, err = a.useCode(ctx, tx, actor, u, cleanCode(code))
		return err
	})
	if err != nil {
		return err
	}
	if ok {
		refund()
		return nil
	}
	refusal := &controlplane.Error{
		Kind: controlplane.Unauthenticated, Code: "second_factor_wrong", Field: "code",
		Message: "this code is wrong, too old, or was used already",
		Remedy: "Wait for the next code of your authenticator app, or type a recovery code that " +
			"you have not used.",
	}
	e := access.User(u, nil).WithOrigin(actor.RemoteAddress(), actor.Request()).
		NewAuditEntry(action, "user "+u.Name)
	return a.auditRefusal(ctx, e, refusal)
}

func (a *Accounts) useCode(ctx context.Context, tx *postgres.Tx, actor access.Actor,
	u controlplane.User, code string) (bool, error) {
	if !isTOTP(code) {
		return a.useRecoveryCode(ctx, tx, actor, u, code)
	}
	all, err := tx.Factors().List(ctx, u.ID)
	if err != nil {
		return false, err
	}
	for _, f := range confirmedFactors(all) {
		if f.Kind != controlplane.FactorTOTP {
			continue
		}
		if ok, err := a.useTOTP(ctx, tx, f, code); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// allowCode uses up one try at a person's codes. Three of a million codes are good at a time, so
// they have a limit of their own, far below that of passwords.
func (a *Accounts) allowCode(actor access.Actor, name string) (refund func(), err error) {
	return a.limits.takeCode(name, networkOf(actor.RemoteAddress()), a.now())
}

// Proof is what a signed-in person shows again: one of these.
type Proof struct {
	Password controlplane.Plain
	Code     controlplane.Plain
	Passkey  PasskeyAnswer
}

// StepUp proves again who uses the session, for deeds that cannot be undone. With a second factor,
// the password is not enough.
func (a *Accounts) StepUp(ctx context.Context, actor access.Actor, p Proof) error {
	if err := checkOwnSession(actor); err != nil {
		return err
	}
	if err := a.checkProof(ctx, actor, p); err != nil {
		return err
	}
	e := actor.NewAuditEntry("step up", "user "+actor.Name())
	return a.store.InAuditedTx(ctx, e, func(tx *postgres.Tx) error {
		return tx.Sessions().Confirm(ctx, actor.Session(), a.now())
	})
}

func (a *Accounts) checkProof(ctx context.Context, actor access.Actor, p Proof) error {
	var need controlplane.FactorNeed
	err := a.store.Read(ctx, func(tx *postgres.Tx) (err error) {
		need, err = tx.Factors().Need(ctx, actor.UserID())
		return err
	})
	switch {
	case err != nil:
		return err
	case p.Passkey.Ticket != "":
		_, err := a.checkPasskey(ctx, actor, p.Passkey, "step up", actor.UserID())
		return err
	case !p.Code.IsEmpty() && need.Has:
		return asFieldError(a.checkCode(ctx, actor, actor.Person(), p.Code, "step up"))
	case need.Has:
		return controlplane.NewInvalidError("code", "second_factor_required",
			"you have a second factor, so the password is not enough",
			"Use your passkey, or a code of your authenticator app.")
	case p.Password.IsEmpty():
		return controlplane.NewInvalidError("password", "required",
			"there is nothing to check who you are by", "Type your password.")
	}
	_, err = a.checkPassword(ctx, actor, actor.Name(), p.Password)
	if controlplane.CodeOf(err) == "sign_in_refused" {
		return controlplane.NewInvalidError("password", "password_wrong",
			"the password is wrong", "Type the password you signed in with.")
	}
	return err
}

// asFieldError keeps a wrong code from looking like a session that has ended.
func asFieldError(err error) error {
	if controlplane.CodeOf(err) == "second_factor_wrong" {
		return wrongCode()
	}
	return err
}
