package postgres

import (
	"context"
	"fmt"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
)

func toNotificationChoices(rows []dbsqlc.NotificationChoice) []controlplane.NotificationChoice {
	all := make([]controlplane.NotificationChoice, len(rows))
	for i, r := range rows {
		all[i] = controlplane.NotificationChoice{User: controlplane.UserID(r.UserID),
			Email: r.Email, Project: r.Project, Environment: r.Environment, Events: r.Events,
			Mine: r.Mine}
	}
	return all
}

// ListChoices returns the notifications that one user has chosen.
func (t Notifications) ListChoices(
	ctx context.Context, user controlplane.UserID,
) ([]controlplane.NotificationChoice, error) {
	rows, err := t.q.ListNotificationChoices(ctx, string(user))
	if err != nil {
		return nil, fmt.Errorf("list notification choices: %w", err)
	}
	return toNotificationChoices(rows), nil
}

// ListAllChoices returns the notifications that all active users have chosen.
func (t Notifications) ListAllChoices(
	ctx context.Context,
) ([]controlplane.NotificationChoice, error) {
	rows, err := t.q.ListAllNotificationChoices(ctx)
	if err != nil {
		return nil, fmt.Errorf("list notification choices: %w", err)
	}
	return toNotificationChoices(rows), nil
}

// SetChoices replaces what one person wants to hear of.
func (t Notifications) SetChoices(
	ctx context.Context, user controlplane.UserID, all []controlplane.NotificationChoice,
) error {
	if err := t.q.DeleteNotificationChoices(ctx, string(user)); err != nil {
		return fmt.Errorf("replace notification choices: %w", err)
	}
	for i, c := range all {
		err := t.q.InsertNotificationChoice(ctx, dbsqlc.InsertNotificationChoiceParams{
			UserID: string(user), Position: int32(i), Email: c.Email, Project: c.Project,
			Environment: c.Environment, Events: toStrings(c.Events), Mine: c.Mine})
		if err != nil {
			return fmt.Errorf("store notification choice: %w", translateError(err))
		}
	}
	return nil
}

// Add puts a notice about neither a deployment nor a node into the outbox.
func (t Notifications) Add(ctx context.Context, n controlplane.Notice) error {
	if err := t.q.InsertNotice(ctx, n.Event, n.Data, n.RequestID); err != nil {
		return fmt.Errorf("store notice: %w", err)
	}
	return nil
}

// Take takes the oldest notices out of the outbox.
func (t Notifications) Take(ctx context.Context, most int) ([]controlplane.Notice, error) {
	rows, err := t.q.TakeNotices(ctx, int32(most))
	if err != nil {
		return nil, fmt.Errorf("take notices: %w", err)
	}
	all := make([]controlplane.Notice, len(rows))
	for i, r := range rows {
		all[i] = controlplane.Notice{At: r.At, Event: r.Event,
			Deployment: emptyIfNull[controlplane.DeploymentID](r.DeploymentID),
			Node:       emptyIfNull[controlplane.NodeID](r.NodeID), Data: r.Data, RequestID: r.RequestID}
	}
	return all, nil
}
