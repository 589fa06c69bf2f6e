package diagnose

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/audit"
	"github.com/nullops/nullops/controlplane/postgres"
)

// longestLevel is how far away the end of a level may be.
const longestLevel = 7 * 24 * time.Hour

// ListLevels lists the levels that differ from the settings now.
func (d *Diagnosis) ListLevels(
	ctx context.Context, actor access.Actor,
) (all []controlplane.LogLevel, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return nil, err
	}
	err = d.Store.Read(ctx, func(tx *postgres.Tx) error {
		all, err = tx.Diagnosis().ListLevels(ctx)
		return err
	})
	return all, err
}

// SetLevel has a component log at another level until a time: this process at once, the others
// when they next tell that they are alive, and an agent before this returns. No transaction is
// open while an agent is asked: a node that does not answer holds nobody up.
func (d *Diagnosis) SetLevel(
	ctx context.Context, actor access.Actor, l controlplane.LogLevel,
) (controlplane.LogLevel, error) {
	const action = "set log level"
	l.SetBy, l.SetAt = actor.Name(), time.Now()
	err := d.prepareLevel(ctx, actor, action, l, func(tx *postgres.Tx) error {
		now, err := tx.DatabaseTime(ctx)
		if err != nil {
			return err
		}
		return d.checkLevel(now, l)
	})
	if err != nil {
		return l, err
	}
	err = audit.ChangeAsAdmin(ctx, d.Store, actor, action, describeLevel(l),
		func(tx *postgres.Tx) error { return tx.Diagnosis().PutLevel(ctx, l) })
	if err != nil {
		return l, err
	}
	return l, d.Follow(ctx)
}

// EndLevel has a component log as the settings say again.
func (d *Diagnosis) EndLevel(
	ctx context.Context, actor access.Actor, node, component string,
) error {
	const action = "end log level"
	l := controlplane.LogLevel{Node: node, Component: component}
	missing := controlplane.NewNotFoundError("log level", component)
	err := d.prepareLevel(ctx, actor, action, l, func(tx *postgres.Tx) error {
		all, err := tx.Diagnosis().ListLevels(ctx)
		if err == nil && !slices.ContainsFunc(all, func(one controlplane.LogLevel) bool {
			return one.Node == node && one.Component == component
		}) {
			err = missing
		}
		return err
	})
	if err != nil {
		return err
	}
	err = audit.ChangeAsAdmin(ctx, d.Store, actor, action, describeLevel(l),
		func(tx *postgres.Tx) error {
			ended, err := tx.Diagnosis().DeleteLevel(ctx, node, component)
			if err == nil && !ended {
				err = missing
			}
			return err
		})
	if err != nil {
		return err
	}
	return d.Follow(ctx)
}

// prepareLevel does what comes before a level is stored: it checks the actor and the change, and
// sets the level on the node that it names, if it names one. A refusal is in the audit.
func (d *Diagnosis) prepareLevel(ctx context.Context, actor access.Actor, action string,
	l controlplane.LogLevel, check func(*postgres.Tx) error) error {
	if err := audit.RequireAdmin(ctx, d.Store, actor, action, describeLevel(l)); err != nil {
		return err
	}
	var node controlplane.Node
	err := d.Store.Read(ctx, func(tx *postgres.Tx) error {
		err := check(tx)
		if err == nil && l.Node != "" {
			node, err = tx.Nodes().ByName(ctx, l.Node)
		}
		return err
	})
	if err == nil && l.Node != "" {
		err = d.Agents.SetLogLevel(ctx, node.ID, l)
	}
	return audit.RecordRefusal(ctx, d.Store, actor, action, describeLevel(l), err)
}

func describeLevel(l controlplane.LogLevel) string {
	what := "log of " + l.Component
	if l.Node != "" {
		what += " on node " + l.Node
	}
	if l.Level != "" {
		what += ": " + l.Level
	}
	return what
}

func (d *Diagnosis) checkLevel(now time.Time, l controlplane.LogLevel) error {
	known := d.Components
	if l.Node != "" {
		known = d.AgentComponents
	}
	var level slog.Level
	switch {
	case !slices.Contains(known, l.Component):
		return controlplane.NewInvalidError("component", "component_unknown",
			fmt.Sprintf("there is no component %q", l.Component),
			"Use one of these: "+strings.Join(known, ", ")+".")
	case level.UnmarshalText([]byte(l.Level)) != nil || strings.ToLower(l.Level) != l.Level:
		return controlplane.NewInvalidError("level", "level_unknown",
			fmt.Sprintf("there is no level %q", l.Level), "Use debug, info, warn or error.")
	case l.Until.IsZero() || !l.Until.After(now) || l.Until.After(now.Add(longestLevel)):
		return controlplane.NewInvalidError("until", "level_without_end",
			"a level ends, within 7 days from now",
			"Give the time at which it ends. You can set it again then.")
	}
	return nil
}
