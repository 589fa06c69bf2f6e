package accounts

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// signInClaims signs in the person whom the provider identified.
func (a *Accounts) signInClaims(
	ctx context.Context, actor access.Actor, p *Provider, c claims,
) (out SignedIn, err error) {
	e := actor.NewAuditEntry("sign in", "user")
	err = a.store.InAuditedTx(ctx, e, func(tx *postgres.Tx) error {
		u, err := a.findOrCreateUser(ctx, tx, c)
		if err != nil {
			return err
		}
		e.Actor, e.ActorID, e.Object = u.Name, u.ID, "user "+u.Name
		if !u.Active {
			return &controlplane.Error{
				Kind: controlplane.Unauthenticated, Code: "account_inactive",
				Message: "this account was switched off", Remedy: "Ask an admin.",
			}
		}
		if u, err = a.followAddress(ctx, tx, *e, u, c); err != nil {
			return err
		}
		now, err := a.followGroups(ctx, tx, *e, p, u, c)
		if err != nil {
			return err
		}
		out, err = a.beginSession(ctx, tx, actor, now, controlplane.MethodProvider)
		return err
	})
	return out, err
}

// findOrCreateUser finds the person: by what the provider calls them or, the first time,
// by a verified address that an admin wrote down. Else it makes one.
func (a *Accounts) findOrCreateUser(
	ctx context.Context, tx *postgres.Tx, c claims,
) (controlplane.User, error) {
	u, ok, err := tx.Users().ByIdentity(ctx, c.Issuer, c.Subject)
	if err != nil || ok {
		return u, err
	}
	if c.Verified && c.Email != "" {
		if u, ok, err = tx.Users().ByAddress(ctx, c.Email); err != nil {
			return u, err
		}
		if ok {
			return u, tx.Users().SetIdentity(ctx, u.ID, c.Issuer, c.Subject)
		}
	}
	return a.createUser(ctx, tx, c)
}

func (a *Accounts) createUser(
	ctx context.Context, tx *postgres.Tx, c claims,
) (controlplane.User, error) {
	name, err := freeName(ctx, tx, c)
	if err != nil {
		return controlplane.User{}, err
	}
	u := controlplane.User{
		ID: controlplane.NewID[controlplane.UserID](), Name: name, DisplayName: c.Name,
		Role: controlplane.RoleUser, Active: true, Kind: controlplane.KindPerson,
	}
	taken, err := tx.Users().IsAddressTaken(ctx, c.Email)
	if err != nil {
		return u, err
	}
	if c.Verified && !taken && validAddress(c.Email) == nil {
		u.Address = c.Email
	}
	if len(u.DisplayName) > 200 {
		u.DisplayName = name
	}
	if err := tx.Users().Insert(ctx, u, ""); err != nil {
		return u, err
	}
	return u, tx.Users().SetIdentity(ctx, u.ID, c.Issuer, c.Subject)
}

var notInName = regexp.MustCompile(`[^a-z0-9]+`)

// freeName makes a user name from the provider's claims. A name that is taken belongs
// to another person, whatever the provider claims.
func freeName(ctx context.Context, tx *postgres.Tx, c claims) (string, error) {
	local, _, _ := strings.Cut(c.Email, "@")
	base := notInName.ReplaceAllString(strings.ToLower(cmp.Or(c.Username, local)), "-")
	base = cmp.Or(strings.Trim(base[:min(len(base), 32)], "-"), "user")
	for n := 1; n < 1000; n++ {
		name := base
		if n > 1 {
			name = fmt.Sprintf("%s-%d", base, n)
		}
		_, err := tx.Users().ByName(ctx, name)
		if controlplane.KindOf(err) == controlplane.NotFound {
			return name, nil
		}
		if err != nil {
			return "", err
		}
	}
	return "", controlplane.NewInvalidError("name", "name_taken",
		"a thousand people are called "+base+" already",
		"Ask an admin to make your account.")
}

// followAddress updates a person's address after a verified change at the provider. An address that
// another person already has is not taken over.
func (a *Accounts) followAddress(
	ctx context.Context, tx *postgres.Tx, e controlplane.AuditEntry, u controlplane.User,
	c claims,
) (controlplane.User, error) {
	if !c.Verified || strings.EqualFold(c.Email, u.Address) || validAddress(c.Email) != nil {
		return u, nil
	}
	e.Action, e.Result = "change address", controlplane.AuditOK
	e.Detail = "single sign-on"
	taken, err := tx.Users().IsAddressTaken(ctx, c.Email)
	if err != nil {
		return u, err
	}
	if taken {
		e.Result, e.Detail = controlplane.AuditRefused, "address_taken"
		return u, tx.Audit().Insert(ctx, e)
	}
	for _, address := range []string{u.Address, c.Email} {
		err := a.queueSecurityMail(ctx, tx, e, u, address, "Your e-mail address was changed")
		if err != nil {
			return u, err
		}
	}
	u.Address = c.Email
	if err := tx.Users().Update(ctx, u); err != nil {
		return u, err
	}
	return u, tx.Audit().Insert(ctx, e)
}

// followGroups sets the person's teams and role to those of their groups, and returns the person as
// stored then. If the provider did not send groups, teams and role stay, and the audit says so: a
// provider that omits the claim, for example above 200 groups, must not take everything away
// silently.
func (a *Accounts) followGroups(
	ctx context.Context, tx *postgres.Tx, e controlplane.AuditEntry, p *Provider,
	u controlplane.User, c claims,
) (controlplane.User, error) {
	e.Result = controlplane.AuditOK
	if c.noGroups != "" {
		if !p.mapsGroups() {
			return u, nil
		}
		a.log.WarnContext(ctx, "sign-in without groups: teams and role stay as they are",
			"user", u.Name, "reason", c.noGroups)
		e.Action, e.Detail = "keep teams and role", "groups_missing"
		return u, tx.Audit().Insert(ctx, e)
	}
	if err := a.applyGroups(ctx, tx, e, p, u, c.groups); err != nil {
		return u, err
	}
	now, err := tx.Users().ByID(ctx, u.ID)
	if err != nil {
		return u, err
	}
	return now.User, auditGroupChanges(ctx, tx, e, u, now.User)
}

// auditGroupChanges writes one entry for each team and role that a sign-in changed: these changes
// go through no operation that would write its own entry.
func auditGroupChanges(
	ctx context.Context, tx *postgres.Tx, e controlplane.AuditEntry,
	old, now controlplane.User,
) error {
	e.Detail = "single sign-on groups"
	insert := func(action, object string) error {
		e.Action, e.Object = action, object
		return tx.Audit().Insert(ctx, e)
	}
	for _, team := range now.Teams {
		if slices.Contains(old.Teams, team) {
			continue
		}
		if err := insert("join team", "user "+now.Name+" team "+team); err != nil {
			return err
		}
	}
	for _, team := range old.Teams {
		if slices.Contains(now.Teams, team) {
			continue
		}
		if err := insert("leave team", "user "+now.Name+" team "+team); err != nil {
			return err
		}
	}
	if now.Role == old.Role {
		return nil
	}
	e.Detail = fmt.Sprintf("single sign-on groups: %s to %s", old.Role, now.Role)
	return insert("change role", "user "+now.Name)
}

// applyGroups puts the person on the teams of their groups, takes them off the
// others that groups decide, and sets the role if a group decides that too.
func (a *Accounts) applyGroups(ctx context.Context, tx *postgres.Tx, e controlplane.AuditEntry,
	p *Provider, u controlplane.User, groups []string) error {
	on, off := p.teamsOf(groups)
	for _, team := range on {
		if err := tx.Teams().AddMember(ctx, u.ID, team); err != nil {
			return err
		}
	}
	for _, team := range off {
		if err := tx.Teams().RemoveMember(ctx, u.ID, team); err != nil {
			return err
		}
	}
	if len(on)+len(off) > 0 {
		tx.NotifyOnCommit(controlplane.TopicAccess, "")
	}
	if p.Admins == "" {
		return nil
	}
	return a.setRole(ctx, tx, e, u, slices.Contains(groups, p.Admins))
}

// setRole never takes the last admin away.
func (a *Accounts) setRole(
	ctx context.Context, tx *postgres.Tx, e controlplane.AuditEntry, u controlplane.User,
	admin bool,
) error {
	old := u
	u.Role = controlplane.RoleUser
	if admin {
		u.Role = controlplane.RoleAdmin
	}
	if u.Role == old.Role {
		return nil
	}
	admins, err := tx.Users().LockActiveAdmins(ctx)
	if err != nil {
		return err
	}
	if err := keepsAdmin(admins, u); err != nil {
		return err
	}
	tx.NotifyOnCommit(controlplane.TopicAccess, "")
	if err := tx.Users().Update(ctx, u); err != nil {
		return err
	}
	return a.afterChange(ctx, tx, e, old, u, "")
}
