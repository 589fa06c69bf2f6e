package lifecycle

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/internal/quantity"
)

// RecordPresence stores that somebody is at a deployment's addresses.
func (l *Lifecycle) RecordPresence(
	ctx context.Context, actor access.Actor, p controlplane.PresenceReport,
) error {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return err
	}
	return l.store.InTx(ctx, func(tx *postgres.Tx) error { return tx.Presence().Put(ctx, p) })
}

// ForgetVisitors deletes the times of those who left.
func (l *Lifecycle) ForgetVisitors(ctx context.Context, actor access.Actor) error {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return err
	}
	return l.store.InTx(ctx, func(tx *postgres.Tx) error { return tx.Presence().DeleteOld(ctx) })
}

// RequireNobodyThere refuses what would interrupt others: somebody made a request within
// controlplane.PresenceFor, and is not the actor. Visitors that are only counted refuse nothing:
// the actor may be one of them.
func (l *Lifecycle) RequireNobodyThere(
	ctx context.Context, actor access.Actor, id controlplane.DeploymentID,
) error {
	var d controlplane.Deployment
	var others []controlplane.Visitor
	var now time.Time
	err := l.store.Read(ctx, func(tx *postgres.Tx) (err error) {
		if d, err = readDeployment(ctx, tx, actor, id); err != nil {
			return err
		}
		if now, err = tx.DatabaseTime(ctx); err != nil {
			return err
		}
		others, err = listOthers(ctx, tx, actor, d)
		return err
	})
	if err != nil || len(others) == 0 {
		return err
	}
	return peoplePresent(fmt.Sprintf("%s is in use: %s", d.Name, DescribeVisitors(others, now)))
}

// RequireNobodyOnNode refuses, as RequireNobodyThere does for one, what would interrupt others at
// any deployment of a node. It says nothing to somebody who may not change nodes, nor about a node
// that is not there: what they want is refused with its own reason. Nobody reaches what is on a
// disabled node.
func (l *Lifecycle) RequireNobodyOnNode(
	ctx context.Context, actor access.Actor, node string,
) error {
	if access.Check(actor, access.Admin, access.Object{}) != nil {
		return nil
	}
	var used []string
	err := l.store.Read(ctx, func(tx *postgres.Tx) error {
		used = nil
		n, err := tx.Nodes().ByName(ctx, node)
		if err != nil || !n.IsEnabled() {
			return err
		}
		all, err := tx.Nodes().ListRemainingDeployments(ctx, n.ID)
		if err != nil {
			return err
		}
		ids := make([]controlplane.DeploymentID, len(all))
		for i, d := range all {
			ids[i] = d.ID
		}
		visitors, err := tx.Presence().ListOf(ctx, ids...)
		if err != nil {
			return err
		}
		now, err := tx.DatabaseTime(ctx)
		for _, d := range all {
			if others := othersAmong(visitors[d.ID], actor); len(others) > 0 {
				used = append(used, d.Name+" by "+DescribeVisitors(others, now))
			}
		}
		return err
	})
	if controlplane.KindOf(err) == controlplane.NotFound {
		return nil
	}
	if err != nil || len(used) == 0 {
		return err
	}
	return peoplePresent("deployments of node " + node + " are in use: " + listShortly(used, "; "))
}

func peoplePresent(message string) error {
	return &controlplane.Error{Kind: controlplane.Conflict, Code: "people_present", Message: message,
		Remedy: "Ask them first, wait until they are gone, or do it anyway (anyway, --anyway)."}
}

// listOthers returns who is known to be at the addresses of a deployment, but for the actor.
func listOthers(ctx context.Context, tx *postgres.Tx, actor access.Actor,
	d controlplane.Deployment) (others []controlplane.Visitor, err error) {
	if d.Status.IsGone() || d.Goal == controlplane.GoalGone {
		return nil, nil
	}
	all, err := tx.Presence().ListOf(ctx, d.ID)
	return othersAmong(all[d.ID], actor), err
}

// othersAmong returns those who are known by name, and are not the actor.
func othersAmong(all []controlplane.Visitor, actor access.Actor) (others []controlplane.Visitor) {
	for _, v := range controlplane.KnownVisitors(all) {
		if v.User == "" || v.User != actor.UserID() {
			others = append(others, v)
		}
	}
	return others
}

// DescribeVisitors spells who is there in one phrase: "lena (12 seconds ago) and 3 visitors".
func DescribeVisitors(all []controlplane.Visitor, now time.Time) string {
	words := make([]string, len(all))
	for i, v := range all {
		words[i] = describeVisitor(v, now)
	}
	return listShortly(words, ", ")
}

// listShortly joins the first five, and says how many more there are.
func listShortly(words []string, separator string) string {
	const shown = 5
	if n := len(words); n > shown {
		words = append(slices.Clone(words[:shown]), fmt.Sprint(n-shown, " more"))
	}
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], separator) + " and " + words[n-1]
	}
	return strings.Join(words, "")
}

func describeVisitor(v controlplane.Visitor, now time.Time) string {
	who := v.Name
	switch v.Kind {
	case controlplane.VisitorGuest:
		who = strings.TrimSpace("a guest " + v.Name)
	case controlplane.VisitorRobot:
		who = strings.TrimSpace("a robot " + v.Name)
	case controlplane.VisitorCount:
		who = quantity.FormatCount(v.Visitors, "visitor", "visitors")
	}
	return who + " (" + quantity.FormatAhead(max(now.Sub(v.LastSeen), 0)) + " ago)"
}
