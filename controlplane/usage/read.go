package usage

import (
	"context"
	"fmt"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/internal/quantity"
)

const (
	// defaultSpan applies if the query has no time range.
	defaultSpan = time.Hour
	// longestSpan is what is kept at all.
	longestSpan = 92 * 24 * time.Hour
	// mostPoints bounds an answer; a screen has some thousand columns.
	mostPoints = 20_000
)

// Query selects a time range. Zero times mean the last hour; a nil width means the finest that
// makes a readable curve.
type Query struct {
	From, To time.Time
	Width    *time.Duration
}

// Series is a curve, or one for each service, in rows of one width.
type Series struct {
	From, To time.Time
	Width    time.Duration
	Rows     []controlplane.UsageSum
}

// NodeUsage returns a node's use over time.
func (u *Usage) NodeUsage(
	ctx context.Context, actor access.Actor, name string, q Query,
) (s Series, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return s, err
	}
	if s, err = planSeries(q, time.Now()); err != nil {
		return s, err
	}
	err = u.store.Read(ctx, func(tx *postgres.Tx) error {
		n, err := tx.Nodes().ByName(ctx, name)
		if err != nil {
			return err
		}
		u.Watch(n.ID)
		s.Rows, err = tx.Usage().List(ctx, string(n.ID), s.Width, s.From, s.To, mostPoints)
		return err
	})
	return s, err
}

// DeploymentUsage returns the use of each service of a deployment over time. Who may read the
// deployment may read it.
func (u *Usage) DeploymentUsage(ctx context.Context, actor access.Actor,
	id controlplane.DeploymentID, q Query) (s Series, err error) {
	if err := access.Check(actor, access.Self, access.Object{}); err != nil {
		return s, err
	}
	err = u.store.Read(ctx, func(tx *postgres.Tx) error {
		d, err := tx.Deployments().Get(ctx, id)
		if err != nil {
			return err
		}
		// Named by its id: the answer must be the one for an id that does not exist.
		err = access.Check(actor, access.ReadDeployment, access.Object{What: "deployment",
			Name: string(id), Project: d.ProjectID, Environment: d.EnvironmentID,
			Restricted: d.Restricted})
		if err != nil {
			return err
		}
		if s, err = planSeries(q, time.Now()); err != nil {
			return err
		}
		u.Watch(d.NodeID)
		s.Rows, err = tx.Usage().List(ctx, string(d.ID), s.Width, s.From, s.To, mostPoints)
		return err
	})
	return s, err
}

// planSeries fills in what a query leaves open. It is pure.
func planSeries(q Query, now time.Time) (Series, error) {
	s := Series{From: q.From, To: q.To}
	if s.To.IsZero() {
		s.To = now
	}
	if s.From.IsZero() {
		s.From = s.To.Add(-defaultSpan)
	}
	span := s.To.Sub(s.From)
	if span <= 0 || span > longestSpan {
		return s, &controlplane.Error{Kind: controlplane.Invalid, Code: "range_invalid",
			Field: "from", Message: fmt.Sprintf("from must be before to, and at most %s",
				quantity.FormatDuration(longestSpan)),
			Remedy: "Ask for a stretch of time that is kept."}
	}
	if q.Width != nil {
		s.Width = *q.Width
		return s, nil
	}
	s.Width = finestWidth(s.From, span, now)
	return s, nil
}

// finestWidth is the finest width that is still kept at the beginning of the stretch
// and makes at most some hundred points of it.
func finestWidth(from time.Time, span time.Duration, now time.Time) time.Duration {
	rules := Rules()
	switch kept := func(r Rule) bool { return !from.Before(r.Cutoff(now)) }; {
	case span <= time.Hour && kept(rules[0]):
		return Raw
	case span <= 12*time.Hour && kept(rules[1]):
		return Minutely
	}
	return Hourly
}
