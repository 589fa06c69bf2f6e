package lifecycle

import (
	"context"
	"fmt"
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
	return &controlplane.Error{Kind: controlplane.Conflict, Code: "people_present",
		Message: fmt.Sprintf("%s is in use: %s", d.Name, DescribeVisitors(others, now)),
		Remedy:  "Ask them first, wait until they are gone, or do it anyway (anyway, --anyway)."}
}

// listOthers returns who is known to be at the addresses of a deployment, but for the actor.
func listOthers(ctx context.Context, tx *postgres.Tx, actor access.Actor,
	d controlplane.Deployment) (others []controlplane.Visitor, err error) {
	if d.Status.IsGone() || d.Goal == controlplane.GoalGone {
		return nil, nil
	}
	all, err := tx.Presence().ListOf(ctx, d.ID)
	for _, v := range controlplane.KnownVisitors(all[d.ID]) {
		if v.User == "" || v.User != actor.UserID() {
			others = append(others, v)
		}
	}
	return others, err
}

// DescribeVisitors spells who is there in one phrase: "lena (12 seconds ago) and 3 visitors".
func DescribeVisitors(all []controlplane.Visitor, now time.Time) string {
	const shown = 5
	var words []string
	for i, v := range all {
		if i == shown {
			words = append(words, fmt.Sprint(len(all)-shown, " more"))
			break
		}
		words = append(words, describeVisitor(v, now))
	}
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
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
