package accounts

import (
	"cmp"
	"context"
	"slices"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// UserPut is what an admin says about a person.
type UserPut struct {
	Name        string
	DisplayName string
	Role        controlplane.Role
	Active      bool
	// Kind is a person's when empty; it never changes.
	Kind controlplane.UserKind
	// Address is an e-mail address, or nothing.
	Address string
	// Password is required for a new person; the empty one keeps the old.
	Password controlplane.Plain
}

// ListUsers returns one page of people and the next page's cursor.
func (a *Accounts) ListUsers(
	ctx context.Context, actor access.Actor, p controlplane.Page,
) (all []controlplane.User, next string, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return nil, "", err
	}
	err = a.store.Read(ctx, func(tx *postgres.Tx) (err error) {
		all, err = tx.Users().List(ctx, p)
		return err
	})
	all, next = controlplane.CutPage(p, all, func(u controlplane.User) string { return u.Name })
	return all, next, err
}

// GetUser loads one person.
func (a *Accounts) GetUser(
	ctx context.Context, actor access.Actor, name string,
) (u controlplane.User, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return u, err
	}
	err = a.store.Read(ctx, func(tx *postgres.Tx) error {
		found, err := tx.Users().ByName(ctx, name)
		u = found.User
		return err
	})
	return u, err
}

// PutUser makes or changes a person. A changed role or password, and being
// made inactive, end all of their sessions; the latter two also their API
// tokens.
func (a *Accounts) PutUser(
	ctx context.Context, actor access.Actor, p UserPut,
) (out controlplane.SaveResult[controlplane.User], err error) {
	e := actor.NewAuditEntry("put user", "user "+p.Name)
	if err := a.checkUser(actor, p); err != nil {
		return out, a.auditRefusal(ctx, e, err)
	}
	// Hashing takes long, so it comes before the transaction.
	hash, err := a.newHash(ctx, p)
	if err != nil {
		return out, a.auditRefusal(ctx, e, err)
	}
	err = a.store.InAuditedTx(ctx, e, func(tx *postgres.Tx) error {
		out, err = a.putUser(ctx, tx, *e, p, hash)
		return err
	})
	return out, err
}

func (a *Accounts) checkUser(actor access.Actor, p UserPut) error {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return err
	}
	if err := controlplane.ValidName("name", p.Name); err != nil {
		return err
	}
	if p.Role != controlplane.RoleAdmin && p.Role != controlplane.RoleUser {
		return controlplane.NewInvalidError("role", "role_invalid", "a role is admin or user",
			"Choose one of the two.")
	}
	if len(p.DisplayName) > 200 {
		return controlplane.NewInvalidError("display_name", "too_long",
			"a display name has at most 200 bytes",
			"Shorten it.")
	}
	if p.Address != "" {
		if err := validAddress(p.Address); err != nil {
			return err
		}
	}
	return checkKind(p)
}

func checkKind(p UserPut) error {
	switch {
	case p.Kind != "" && p.Kind != controlplane.KindPerson && p.Kind != controlplane.KindService:
		return controlplane.NewInvalidError("kind", "kind_invalid", "a kind is person or service",
			"Choose one of the two.")
	case p.Password.IsEmpty():
		return nil
	case p.Kind == controlplane.KindService:
		return controlplane.NewInvalidError("password", "service_user",
			"a service user has no password",
			"Leave it out, and make a token.")
	default:
		return validPassword("password", p.Password)
	}
}

// newHash returns the hash to store, "" if the password stays as it is.
func (a *Accounts) newHash(ctx context.Context, p UserPut) (string, error) {
	if p.Password.IsEmpty() {
		return "", nil
	}
	var u postgres.UserWithHash
	err := a.store.Read(ctx, func(tx *postgres.Tx) (err error) {
		u, err = tx.Users().ByName(ctx, p.Name)
		return err
	})
	if err != nil && controlplane.KindOf(err) != controlplane.NotFound {
		return "", err
	}
	if err == nil {
		same, _, err := a.hasher.verifyPassword(ctx, p.Password, u.PasswordHash)
		if err != nil || same {
			return "", err
		}
	}
	// The same password again is no new one, so that a document can be applied twice.
	if err := a.checkStrength("password", p.Password, p.Name, p.DisplayName, p.Address); err != nil {
		return "", err
	}
	return a.hasher.hashPassword(ctx, p.Password)
}

func (a *Accounts) putUser(
	ctx context.Context, tx *postgres.Tx, e controlplane.AuditEntry, p UserPut, hash string,
) (out controlplane.SaveResult[controlplane.User], err error) {
	// First, because what follows looks at who is an admin.
	admins, err := tx.Users().LockActiveAdmins(ctx)
	if err != nil {
		return out, err
	}
	old, err := tx.Users().ByName(ctx, p.Name)
	if controlplane.KindOf(err) == controlplane.NotFound {
		return a.insertUser(ctx, tx, p, hash)
	}
	if err != nil {
		return out, err
	}
	if p.Kind != "" && p.Kind != old.Kind {
		return out, controlplane.NewInvalidError("kind", "kind_stays",
			"people and service users never become the other",
			"Choose another name.")
	}
	if hash != "" && old.Kind == controlplane.KindService {
		return out, noPassword(p.Name)
	}
	u := old.User
	u.DisplayName, u.Role, u.Active = p.DisplayName, p.Role, p.Active
	u.Address = p.Address
	if err := keepsAdmin(admins, u); err != nil {
		return out, err
	}
	out.Object = u
	out.Changed = hash != "" || u.DisplayName != old.DisplayName || u.Role != old.Role ||
		u.Active != old.Active || u.Address != old.Address
	if !out.Changed {
		return out, nil
	}
	tx.RecordChange(rights{old.Role, old.Active}, rights{u.Role, u.Active})
	tx.NotifyOnCommit(controlplane.TopicAccess, "")
	if err := tx.Users().Update(ctx, u); err != nil {
		return out, err
	}
	return out, a.afterChange(ctx, tx, e, old.User, u, hash)
}

// rights are what the audit keeps of a changed user. Names and addresses are personal, and the
// audit cannot forget them.
type rights struct {
	Role   controlplane.Role
	Active bool
}

func (a *Accounts) insertUser(
	ctx context.Context, tx *postgres.Tx, p UserPut, hash string,
) (out controlplane.SaveResult[controlplane.User], err error) {
	kind := cmp.Or(p.Kind, controlplane.KindPerson)
	if hash == "" && kind == controlplane.KindPerson {
		return out, controlplane.NewInvalidError("password", "required",
			"a new user needs a password",
			"Give one of at least 12 characters, or invite them.")
	}
	u := controlplane.User{
		ID: controlplane.NewID[controlplane.UserID](), Name: p.Name,
		DisplayName: p.DisplayName, Role: p.Role, Active: p.Active, Kind: kind, Address: p.Address,
	}
	if err := tx.Users().Insert(ctx, u, hash); err != nil {
		return out, err
	}
	saved, err := tx.Users().ByID(ctx, u.ID)
	return controlplane.SaveResult[controlplane.User]{
		Changed: true, Created: true, Object: saved.User,
	}, err
}

// afterChange ends what the change makes invalid. e is the entry of the change,
// which says who made it.
func (a *Accounts) afterChange(
	ctx context.Context, tx *postgres.Tx, e controlplane.AuditEntry,
	old, now controlplane.User, hash string,
) error {
	if now.Address != old.Address {
		// The former address too: the new one may be a stranger's.
		for _, address := range []string{old.Address, now.Address} {
			err := a.queueSecurityMail(ctx, tx, e, now, address, "Your e-mail address was changed")
			if err != nil {
				return err
			}
		}
	}
	if !now.Active {
		if err := revokeTokens(ctx, tx, e, now, "account switched off"); err != nil {
			return err
		}
	}
	if hash != "" {
		return a.replacePassword(ctx, tx, e, now, hash)
	}
	if !now.Active || now.Role != old.Role {
		return tx.Sessions().DeleteOf(ctx, now.ID, "")
	}
	return nil
}

// keepsAdmin refuses to remove the last active admin.
func keepsAdmin(admins []controlplane.UserID, u controlplane.User) error {
	if u.Active && u.Role == controlplane.RoleAdmin || !slices.Contains(admins, u.ID) ||
		len(admins) > 1 {
		return nil
	}
	return &controlplane.Error{
		Kind: controlplane.Conflict, Code: "last_admin",
		Message: u.Name + " is the last active admin",
		Remedy:  "Make somebody else an admin first.",
	}
}

// DeleteUser removes a person with their sessions, tokens and memberships,
// unless a question of a current pipeline names them.
func (a *Accounts) DeleteUser(ctx context.Context, actor access.Actor, name string) error {
	e := actor.NewAuditEntry("delete user", "user "+name)
	return a.store.InAuditedTx(ctx, e, func(tx *postgres.Tx) error {
		if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
			return err
		}
		admins, err := tx.Users().LockActiveAdmins(ctx)
		if err != nil {
			return err
		}
		u, err := tx.Users().ByName(ctx, name)
		if err != nil {
			return err
		}
		gone := u.User
		gone.Active = false
		if err := keepsAdmin(admins, gone); err != nil {
			return err
		}
		tx.NotifyOnCommit(controlplane.TopicAccess, "")
		return tx.Users().Delete(ctx, u.ID)
	})
}

// auditRefusal writes down an attempt that ended before its transaction began.
func (a *Accounts) auditRefusal(
	ctx context.Context, e *controlplane.AuditEntry, why error,
) error {
	if err := a.store.RecordRefusal(ctx, *e, why); err != nil {
		return err
	}
	return why
}
