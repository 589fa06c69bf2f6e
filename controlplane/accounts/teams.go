package accounts

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// TeamPut is what an admin says about a team: all of its members and grants.
type TeamPut struct {
	Name        string
	Description string
	Members     []string
	Grants      []controlplane.TeamGrant
	// SecondFactor requires one of every member who signs in with a password. Nil leaves it as it
	// is: a program that does not know of it must not lift it.
	SecondFactor *bool
	// Verdicts lets the members say QA's verdict on what the team may see. Nil leaves it as it is.
	Verdicts *bool
}

// ListTeams returns one page of teams and the next page's cursor: all of them to an admin, only
// their own teams to others.
func (a *Accounts) ListTeams(
	ctx context.Context, actor access.Actor, p controlplane.Page,
) (all []controlplane.Team, next string, err error) {
	if err := access.Check(actor, access.Self, access.Object{}); err != nil {
		return nil, "", err
	}
	of := actor.UserID()
	if actor.IsAdmin() {
		of = ""
	}
	err = a.store.Read(ctx, func(tx *postgres.Tx) (err error) {
		all, err = tx.Teams().List(ctx, of, p.After, p.FetchLimit())
		return err
	})
	all, next = controlplane.CutPage(p, all, func(t controlplane.Team) string { return t.Name })
	return all, next, err
}

// GetTeam loads one team, for an admin or one of its members.
func (a *Accounts) GetTeam(
	ctx context.Context, actor access.Actor, name string,
) (t controlplane.Team, err error) {
	if err := access.Check(actor, access.Self, access.Object{}); err != nil {
		return t, err
	}
	err = a.store.Read(ctx, func(tx *postgres.Tx) (err error) {
		t, err = tx.Teams().ByName(ctx, name)
		return err
	})
	if err == nil && !actor.IsAdmin() && !slices.Contains(t.Members, actor.Name()) {
		return controlplane.Team{}, controlplane.NewNotFoundError("team", name)
	}
	return t, err
}

// PutTeam makes a team or replaces its description, members and grants.
func (a *Accounts) PutTeam(
	ctx context.Context, actor access.Actor, p TeamPut,
) (out controlplane.SaveResult[controlplane.Team], err error) {
	e := actor.NewAuditEntry("put team", "team "+p.Name)
	err = a.store.InAuditedTx(ctx, e, func(tx *postgres.Tx) error {
		if err := checkTeam(actor, &p); err != nil {
			return err
		}
		out, err = putTeam(ctx, tx, p)
		return err
	})
	return out, err
}

func putTeam(
	ctx context.Context, tx *postgres.Tx, p TeamPut,
) (out controlplane.SaveResult[controlplane.Team], err error) {
	t, err := tx.Teams().ByName(ctx, p.Name)
	if controlplane.KindOf(err) == controlplane.NotFound {
		out.Created, err = true, nil
		t = controlplane.Team{ID: controlplane.NewID[controlplane.TeamID](), Name: p.Name}
	}
	if err != nil {
		return out, err
	}
	old := t
	out.Changed = out.Created || t.Description != p.Description ||
		!slices.Equal(t.Members, p.Members) || !sameGrants(t.Grants, p.Grants) ||
		p.SecondFactor != nil && t.SecondFactor != *p.SecondFactor ||
		p.Verdicts != nil && t.Verdicts != *p.Verdicts
	t.Description, t.Members, t.Grants = p.Description, p.Members, p.Grants
	if p.SecondFactor != nil {
		t.SecondFactor = *p.SecondFactor
	}
	if p.Verdicts != nil {
		t.Verdicts = *p.Verdicts
	}
	out.Object = t
	if !out.Changed {
		return out, nil
	}
	if !out.Created {
		tx.RecordChange(old, t)
	}
	tx.NotifyOnCommit(controlplane.TopicAccess, "")
	return out, tx.Teams().Put(ctx, t, out.Created)
}

// checkTeam refuses what makes no sense and puts the lists into one order.
func checkTeam(actor access.Actor, p *TeamPut) error {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return err
	}
	if err := controlplane.ValidName("name", p.Name); err != nil {
		return err
	}
	if len(p.Description) > 500 {
		return controlplane.NewInvalidError("description", "too_long",
			"a description has at most 500 bytes",
			"Shorten it.")
	}
	p.Members = slices.Compact(slices.Sorted(slices.Values(p.Members)))
	return checkGrants(p.Grants)
}

func checkGrants(grants []controlplane.TeamGrant) error {
	seen := map[[2]string]bool{}
	for i, g := range grants {
		field := fmt.Sprintf("grants[%d]", i)
		if (g.Project == "") == (g.Environment == "") {
			return controlplane.NewInvalidError(field, "grant_object",
				"a grant names exactly one of project and environment",
				"Split it into two grants, or name one.")
		}
		if g.Level != controlplane.LevelRead && g.Level != controlplane.LevelFull {
			return controlplane.NewInvalidError(field+".level", "level_invalid",
				"a level is read or full",
				"Choose one of the two.")
		}
		key := [2]string{g.Project, g.Environment}
		if seen[key] {
			return controlplane.NewInvalidError(field, "grant_twice",
				"this object is granted twice",
				"Keep the grant with the level you want.")
		}
		seen[key] = true
	}
	return nil
}

func sameGrants(a, b []controlplane.TeamGrant) bool {
	order := func(x, y controlplane.TeamGrant) int {
		return cmp.Or(cmp.Compare(x.Project, y.Project), cmp.Compare(x.Environment, y.Environment))
	}
	return slices.Equal(slices.SortedFunc(slices.Values(a), order),
		slices.SortedFunc(slices.Values(b), order))
}

// DeleteTeam removes a team with its memberships and grants, unless a question
// of a current pipeline names it.
func (a *Accounts) DeleteTeam(ctx context.Context, actor access.Actor, name string) error {
	e := actor.NewAuditEntry("delete team", "team "+name)
	return a.store.InAuditedTx(ctx, e, func(tx *postgres.Tx) error {
		if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
			return err
		}
		t, err := tx.Teams().ByName(ctx, name)
		if err != nil {
			return err
		}
		tx.NotifyOnCommit(controlplane.TopicAccess, "")
		return tx.Teams().Delete(ctx, t.ID)
	})
}
