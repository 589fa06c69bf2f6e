package accounts

import (
	"context"
	"fmt"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

const (
	// StepUpLife is how long a proof counts for deeds that cannot be undone.
	StepUpLife = 10 * time.Minute
	// unconfirmedLife is how long a person has to type the first code of an authenticator app.
	unconfirmedLife = time.Hour
	// mostFactors bounds what one person stores.
	mostFactors = 20
)

// FactorList is what a person sees of their own second factors.
type FactorList struct {
	Factors []controlplane.Factor
	// RecoveryCodes is how many are left.
	RecoveryCodes int
	// Required is set if the person may not be without one.
	Required bool
}

// ListFactors returns the second factors of the signed-in person.
func (a *Accounts) ListFactors(
	ctx context.Context, actor access.Actor,
) (out FactorList, err error) {
	if err := access.Check(actor, access.Self, access.Object{}); err != nil {
		return out, err
	}
	err = a.store.Read(ctx, func(tx *postgres.Tx) error {
		all, err := tx.Factors().List(ctx, actor.UserID())
		if err != nil {
			return err
		}
		out.Factors = confirmedFactors(all)
		if out.RecoveryCodes, err = tx.Factors().CountRecoveryCodes(ctx, actor.UserID()); err != nil {
			return err
		}
		need, err := tx.Factors().Need(ctx, actor.UserID())
		out.Required = a.requiresFactor(actor.Person(), need)
		return err
	})
	return out, err
}

func confirmedFactors(all []controlplane.Factor) []controlplane.Factor {
	var out []controlplane.Factor
	for _, f := range all {
		if f.Confirmed {
			out = append(out, f)
		}
	}
	return out
}

// requiresFactor reports whether a person who signs in with a password must have a second factor.
func (a *Accounts) requiresFactor(u controlplane.User, need controlplane.FactorNeed) bool {
	return need.TeamWants || a.factorRule.includes(u)
}

// DeleteFactor removes one of the actor's own factors. With the last one go the recovery codes.
func (a *Accounts) DeleteFactor(
	ctx context.Context, actor access.Actor, id controlplane.FactorID,
) error {
	if !controlplane.ValidID(string(id)) {
		return controlplane.NewNotFoundError("second factor", string(id))
	}
	e := actor.NewAuditEntry("delete second factor", "second factor "+string(id))
	return a.store.InAuditedTx(ctx, e, func(tx *postgres.Tx) error {
		if err := checkOwnSession(actor); err != nil {
			return err
		}
		if err := tx.Factors().Delete(ctx, actor.UserID(), id); err != nil {
			return err
		}
		need, err := tx.Factors().Need(ctx, actor.UserID())
		if err != nil {
			return err
		}
		if !need.Has {
			if a.requiresFactor(actor.Person(), need) {
				return controlplane.NewConflictError("last_factor",
					"this is your last second factor, and you must have one",
					"Add another one first.")
			}
			if err := tx.Factors().DeleteRecoveryCodes(ctx, actor.UserID()); err != nil {
				return err
			}
		}
		return a.queueSecurityMail(ctx, tx, *e, actor.Person(), actor.Person().Address,
			"A second factor of yours was removed")
	})
}

// ResetFactors removes all second factors and recovery codes of a person who lost them, and ends
// their sessions. They sign in with the password alone then, and add new ones.
func (a *Accounts) ResetFactors(ctx context.Context, actor access.Actor, name string) error {
	e := actor.NewAuditEntry("reset second factors", "user "+name)
	return a.store.InAuditedTx(ctx, e, func(tx *postgres.Tx) error {
		if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
			return err
		}
		u, err := tx.Users().ByName(ctx, name)
		if err != nil {
			return err
		}
		n, err := tx.Factors().DeleteOf(ctx, u.ID)
		if err != nil {
			return err
		}
		e.Detail = fmt.Sprintf("%d removed", n)
		tx.NotifyOnCommit(controlplane.TopicAccess, "")
		if err := tx.Sessions().DeleteOf(ctx, u.ID, ""); err != nil {
			return err
		}
		return a.queueSecurityMail(ctx, tx, *e, u.User, u.Address,
			"Your second factors were removed")
	})
}

// checkOwnSession refuses tokens: a leaked one must not add or remove a second factor.
func checkOwnSession(actor access.Actor) error {
	if err := access.Check(actor, access.Self, access.Object{}); err != nil {
		return err
	}
	if actor.Session() == "" {
		return &controlplane.Error{
			Kind: controlplane.Forbidden, Code: "session_needed",
			Message: "second factors are changed in a browser, not with a token",
			Remedy:  "Sign in with a browser, and open your account.",
		}
	}
	return nil
}

// checkNewFactor refuses what makes no sense before a factor is added.
func checkNewFactor(actor access.Actor, name string) error {
	if err := checkOwnSession(actor); err != nil {
		return err
	}
	if name == "" || len(name) > 100 {
		return controlplane.NewInvalidError("name", "factor_name",
			"the name of a second factor has 1 to 100 bytes", "Say where it is, such as phone.")
	}
	if !actor.Person().HasPassword {
		return controlplane.NewConflictError("no_password",
			"you sign in through your provider, which asks for second factors itself",
			"Set one up at your provider.")
	}
	return nil
}

// addFactor stores a factor; the first one comes with recovery codes. It tells its owner.
func (a *Accounts) addFactor(ctx context.Context, tx *postgres.Tx, actor access.Actor,
	e controlplane.AuditEntry, store func() error) (codes []controlplane.Plain, err error) {
	before, err := tx.Factors().Need(ctx, actor.UserID())
	if err != nil {
		return nil, err
	}
	if err := store(); err != nil {
		return nil, err
	}
	// Open pages of a person who had to add one may go on now.
	tx.NotifyOnCommit(controlplane.TopicAccess, "")
	err = a.queueSecurityMail(ctx, tx, e, actor.Person(), actor.Person().Address,
		"A second factor was added to your account")
	if err != nil || before.Has {
		return nil, err
	}
	return a.replaceRecoveryCodes(ctx, tx, actor.UserID())
}

// BeginTOTP makes the seed of an authenticator app, shown this once. The app counts once it has
// shown a code.
func (a *Accounts) BeginTOTP(ctx context.Context, actor access.Actor, name string) (
	id controlplane.FactorID, seed, uri controlplane.Plain, err error) {
	if err := checkNewFactor(actor, name); err != nil {
		return "", seed, uri, err
	}
	now := a.now()
	f := controlplane.Factor{
		ID: controlplane.NewID[controlplane.FactorID](), User: actor.UserID(),
		Kind: controlplane.FactorTOTP, Name: name, CreatedAt: now,
	}
	seed = newSeed()
	if f.Seed, err = a.keys.SealSeed(f.ID, seed); err != nil {
		return "", seed, uri, fmt.Errorf("seal a seed: %w", err)
	}
	err = a.store.InTx(ctx, func(tx *postgres.Tx) error {
		if err := tx.Factors().DeleteUnconfirmed(ctx, f.User, now.Add(time.Second)); err != nil {
			return err
		}
		if err := checkRoom(ctx, tx, f.User); err != nil {
			return err
		}
		return tx.Factors().Insert(ctx, f)
	})
	return f.ID, seed, totpURI(a.site.name(), actor.Name(), seed), err
}

func checkRoom(ctx context.Context, tx *postgres.Tx, user controlplane.UserID) error {
	all, err := tx.Factors().List(ctx, user)
	if err == nil && len(all) >= mostFactors {
		err = controlplane.NewConflictError("too_many_factors",
			fmt.Sprintf("there are %d second factors already", mostFactors),
			"Remove one that you do not use.")
	}
	return err
}

// ConfirmTOTP completes an authenticator app by its first code. The codes are recovery codes, if it
// is the first factor.
func (a *Accounts) ConfirmTOTP(
	ctx context.Context, actor access.Actor, id controlplane.FactorID, code controlplane.Plain,
) (f controlplane.Factor, codes []controlplane.Plain, err error) {
	e := actor.NewAuditEntry("add second factor", "second factor "+string(id))
	if err := checkOwnSession(actor); err != nil {
		return f, nil, a.auditRefusal(ctx, e, err)
	}
	refund, err := a.allowCode(actor, actor.Name())
	if err != nil {
		return f, nil, err
	}
	err = a.store.InAuditedTx(ctx, e, func(tx *postgres.Tx) error {
		if f, err = findUnconfirmed(ctx, tx, actor.UserID(), id); err != nil {
			return err
		}
		codes, err = a.addFactor(ctx, tx, actor, *e, func() error {
			ok, err := a.useTOTP(ctx, tx, f, cleanCode(code))
			if err == nil && !ok {
				err = wrongCode()
			}
			return err
		})
		f.Confirmed = true
		return err
	})
	if err == nil {
		refund()
	}
	return f, codes, err
}

func findUnconfirmed(ctx context.Context, tx *postgres.Tx, user controlplane.UserID,
	id controlplane.FactorID) (controlplane.Factor, error) {
	all, err := tx.Factors().List(ctx, user)
	if err != nil {
		return controlplane.Factor{}, err
	}
	for _, f := range all {
		if f.ID == id && !f.Confirmed {
			return f, nil
		}
	}
	return controlplane.Factor{}, controlplane.NewNotFoundError("unconfirmed second factor",
		string(id))
}

// useTOTP checks a code, and uses it up.
func (a *Accounts) useTOTP(
	ctx context.Context, tx *postgres.Tx, f controlplane.Factor, code string,
) (bool, error) {
	seed, err := a.keys.OpenSeed(f)
	if err != nil {
		return false, err
	}
	step, ok := totpStep(seed, code, a.now())
	if !ok {
		return false, nil
	}
	return tx.Factors().UseCode(ctx, f.ID, step, a.now())
}

func wrongCode() error {
	return controlplane.NewInvalidError("code", "code_wrong",
		"this code is wrong, too old, or was used already",
		"Wait for the next code of your authenticator app, and check the clocks of both devices.")
}
