package accounts

import (
	"context"
	"crypto/sha256"
	"net/mail"
	"slices"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

const (
	// InvitationLife is how long an invitation can be used.
	InvitationLife = 7 * 24 * time.Hour
	// ResetLife ends a link that sets a password.
	ResetLife = 24 * time.Hour
)

// Invitation is what an admin says about the invited person.
type Invitation struct {
	// Address is the one e-mail address it is good for.
	Address string
	Role    controlplane.Role
	Teams   []string
	// Key is the idempotency key; it may be empty.
	Key string
}

// JoinRequest is what the invited person says about themselves.
type JoinRequest struct {
	// Link is the secret from the fragment (#) of the link.
	Link        controlplane.Plain
	Address     string
	Name        string
	DisplayName string
	Password    controlplane.Plain
}

// Invite creates an invitation. Its secret is returned only here; an earlier
// invitation to the address becomes invalid.
func (a *Accounts) Invite(
	ctx context.Context, actor access.Actor, i Invitation,
) (l controlplane.Link, value controlplane.Plain, err error) {
	value = controlplane.NewPlain(randomBits())
	e := actor.NewAuditEntry("create invitation", "address "+clipAddress(i.Address))
	err = a.store.InAuditedTx(ctx, e, func(tx *postgres.Tx) error {
		if err := checkInvitation(ctx, tx, actor, &i); err != nil {
			return err
		}
		now := a.now()
		l = controlplane.Link{
			ID: controlplane.NewID[controlplane.LinkID](), Kind: controlplane.LinkInvitation,
			Address: i.Address, Role: i.Role, Teams: i.Teams, CreatedBy: actor.Name(),
			CreatedAt: now, ExpiresAt: now.Add(InvitationLife),
		}
		err := createOnce(ctx, tx, actor,
			creation{operation: "invite", key: i.Key, request: i, made: string(l.ID)})
		if err != nil {
			return err
		}
		return tx.Links().Put(ctx, l, sha256.Sum256([]byte(value.Reveal())))
	})
	return l, value, err
}

func clipAddress(s string) string { return s[:min(len(s), 254)] }

func checkInvitation(
	ctx context.Context, tx *postgres.Tx, actor access.Actor, i *Invitation,
) error {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return err
	}
	if err := validAddress(i.Address); err != nil {
		return err
	}
	if i.Role != controlplane.RoleAdmin && i.Role != controlplane.RoleUser {
		return controlplane.NewInvalidError("role", "role_invalid", "a role is admin or user",
			"Choose one of the two.")
	}
	i.Teams = slices.Compact(slices.Sorted(slices.Values(i.Teams)))
	for _, name := range i.Teams {
		if _, err := tx.Teams().ByName(ctx, name); err != nil {
			if controlplane.KindOf(err) != controlplane.NotFound {
				return err
			}
			return controlplane.NewInvalidError("teams", "unknown_team", "there is no team "+name,
				"Create it first, or correct the name.")
		}
	}
	return nil
}

func validAddress(s string) error {
	a, err := mail.ParseAddress(s)
	if err != nil || a.Address != s || len(s) > 254 {
		return controlplane.NewInvalidError("address", "address_invalid",
			"this is no e-mail address",
			"Write one like ada@example.org.")
	}
	return nil
}

// ListInvitations returns the open ones, the newest first.
func (a *Accounts) ListInvitations(
	ctx context.Context, actor access.Actor,
) (all []controlplane.Link, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return nil, err
	}
	err = a.store.Read(ctx, func(tx *postgres.Tx) (err error) {
		all, err = tx.Links().ListInvitations(ctx, a.now())
		return err
	})
	return all, err
}

// DeleteInvitation takes an invitation back.
func (a *Accounts) DeleteInvitation(
	ctx context.Context, actor access.Actor, id controlplane.LinkID,
) error {
	if !controlplane.ValidID(string(id)) {
		return controlplane.NewNotFoundError("invitation", string(id))
	}
	e := actor.NewAuditEntry("delete invitation", "invitation "+string(id))
	return a.store.InAuditedTx(ctx, e, func(tx *postgres.Tx) error {
		if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
			return err
		}
		return tx.Links().DeleteInvitation(ctx, id)
	})
}

// AcceptInvitation uses an invitation up: it makes the person and signs them in.
func (a *Accounts) AcceptInvitation(
	ctx context.Context, actor access.Actor, j JoinRequest,
) (out SignedIn, err error) {
	if err := checkJoining(j); err != nil {
		return out, err
	}
	err = a.checkStrength("password", j.Password, j.Name, j.DisplayName, j.Address)
	if err != nil {
		return out, err
	}
	refund, err := a.allowAnybody(ctx, actor)
	if err != nil {
		return out, err
	}
	hash, err := a.hasher.hashPassword(ctx, j.Password)
	if err != nil {
		return out, err
	}
	u := controlplane.User{
		ID: controlplane.NewID[controlplane.UserID](), Name: j.Name, DisplayName: j.DisplayName,
		Active: true, Kind: controlplane.KindPerson,
	}
	// The audit does not record unproven names as the actor.
	e := actor.NewAuditEntry("join", "user "+j.Name)
	err = a.store.InAuditedTx(ctx, e, func(tx *postgres.Tx) (err error) {
		l, ok, err := tx.Links().Take(ctx, controlplane.LinkInvitation,
			sha256.Sum256([]byte(j.Link.Reveal())), j.Address, a.now())
		if err == nil && !ok {
			err = deadLink()
		}
		if err != nil {
			return err
		}
		u.Role, u.Address = l.Role, l.Address
		if out, err = a.createMember(ctx, tx, actor, u, hash, l.Teams); err != nil {
			return err
		}
		e.Actor, e.ActorID = u.Name, u.ID
		return nil
	})
	if err == nil {
		refund()
	}
	return out, err
}

func (a *Accounts) createMember(ctx context.Context, tx *postgres.Tx, actor access.Actor,
	u controlplane.User, hash string, teams []string) (SignedIn, error) {
	if err := tx.Users().Insert(ctx, u, hash); err != nil {
		return SignedIn{}, err
	}
	for _, team := range teams {
		if err := tx.Teams().AddMember(ctx, u.ID, team); err != nil {
			return SignedIn{}, err
		}
	}
	saved, err := tx.Users().ByID(ctx, u.ID)
	if err != nil {
		return SignedIn{}, err
	}
	in, err := a.beginSession(ctx, tx, actor, saved.User, controlplane.MethodPassword)
	if err != nil {
		return in, err
	}
	// A team that they join may require a second factor.
	in.Actor, err = a.judgeSession(ctx, tx, in.Actor, identity{user: u.ID,
		method: controlplane.MethodPassword, confirmed: a.now()})
	return in, err
}

func checkJoining(j JoinRequest) error {
	if err := controlplane.ValidName("name", j.Name); err != nil {
		return err
	}
	if len(j.DisplayName) > 200 {
		return controlplane.NewInvalidError("display_name", "too_long",
			"a display name has at most 200 bytes",
			"Shorten it.")
	}
	return validPassword("password", j.Password)
}

// deadLink does not say which of its reasons it was.
func deadLink() error {
	return &controlplane.Error{
		Kind: controlplane.Forbidden, Code: "link_invalid",
		Message: "this link was used already, is too old, or is not for this address",
		Remedy:  "Ask an admin for a new one.",
	}
}

// ResetLink creates a link that sets a person's password once. The old password stays
// valid until then.
func (a *Accounts) ResetLink(
	ctx context.Context, actor access.Actor, name string,
) (l controlplane.Link, value controlplane.Plain, err error) {
	value = controlplane.NewPlain(randomBits())
	e := actor.NewAuditEntry("create reset link", "user "+name)
	err = a.store.InAuditedTx(ctx, e, func(tx *postgres.Tx) error {
		if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
			return err
		}
		u, err := tx.Users().ByName(ctx, name)
		if err != nil {
			return err
		}
		if u.Kind == controlplane.KindService {
			return noPassword(name)
		}
		now := a.now()
		l = controlplane.Link{
			ID: controlplane.NewID[controlplane.LinkID](), Kind: controlplane.LinkReset, User: u.ID,
			Role: u.Role, CreatedBy: actor.Name(), CreatedAt: now, ExpiresAt: now.Add(ResetLife),
		}
		return tx.Links().Put(ctx, l, sha256.Sum256([]byte(value.Reveal())))
	})
	return l, value, err
}

func noPassword(name string) error {
	return &controlplane.Error{
		Kind: controlplane.Conflict, Code: "service_user",
		Message: name + " is a service user and has no password",
		Remedy:  "Make a token for it instead.",
	}
}

// ResetPassword uses such a link up. All sessions and API tokens of the person
// end.
func (a *Accounts) ResetPassword(
	ctx context.Context, actor access.Actor, link, password controlplane.Plain,
) error {
	if err := validPassword("password", password); err != nil {
		return err
	}
	// Whose link it is, is not known before it is used up.
	if err := a.checkStrength("password", password); err != nil {
		return err
	}
	refund, err := a.allowAnybody(ctx, actor)
	if err != nil {
		return err
	}
	hash, err := a.hasher.hashPassword(ctx, password)
	if err != nil {
		return err
	}
	e := actor.NewAuditEntry("reset password", "user")
	err = a.store.InAuditedTx(ctx, e, func(tx *postgres.Tx) error {
		l, ok, err := tx.Links().Take(ctx, controlplane.LinkReset,
			sha256.Sum256([]byte(link.Reveal())), "", a.now())
		if err == nil && !ok {
			err = deadLink()
		}
		if err != nil {
			return err
		}
		u, err := tx.Users().ByID(ctx, l.User)
		if err != nil {
			return err
		}
		e.Actor, e.ActorID, e.Object = u.Name, u.ID, "user "+u.Name
		if !u.Active {
			return deadLink()
		}
		return a.replacePassword(ctx, tx, *e, u.User, hash)
	})
	if err == nil {
		refund()
	}
	return err
}
