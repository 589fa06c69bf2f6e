package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
)

// PutOutwardSecret stores a sealed address or key under an id.
func (t *Tx) PutOutwardSecret(
	ctx context.Context, id string, value controlplane.Sealed,
) error {
	if err := t.q.PutOutwardSecret(ctx, id, value); err != nil {
		return fmt.Errorf("store sealed %s: %w", id, translateError(err))
	}
	return nil
}

// OutwardSecret returns the sealed value of an id; nil if there is none.
func (t *Tx) OutwardSecret(ctx context.Context, id string) (controlplane.Sealed, error) {
	value, err := t.q.GetOutwardSecret(ctx, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("load sealed %s: %w", id, err)
	}
	return value, nil
}

// DeleteOutwardSecrets forgets everything that is sealed for one object.
func (t *Tx) DeleteOutwardSecrets(ctx context.Context, object string) error {
	if err := t.q.DeleteOutwardSecrets(ctx, object+"/"); err != nil {
		return fmt.Errorf("delete sealed values of %s: %w", object, err)
	}
	return nil
}

func toWebhook(r dbsqlc.Webhook) controlplane.Webhook {
	return controlplane.Webhook{ID: controlplane.WebhookID(r.ID), Name: r.Name,
		Kind: controlplane.WebhookKind(r.Kind), Host: r.Host, Project: r.Project,
		Environment: r.Environment, Events: r.Events, Template: r.Template, Active: r.Active,
		CreatedBy: r.CreatedBy, CreatedAt: r.CreatedAt}
}

// WebhookByName loads a webhook; not found is a *controlplane.Error.
func (t *Tx) WebhookByName(ctx context.Context, name string) (controlplane.Webhook, error) {
	r, err := t.q.GetWebhook(ctx, name)
	if err != nil {
		return controlplane.Webhook{}, fmt.Errorf(
			"load webhook: %w",
			translateMissing(err, "webhook", name),
		)
	}
	return toWebhook(r), nil
}

// WebhookByID loads the webhook of a delivery.
func (t *Tx) WebhookByID(
	ctx context.Context, id controlplane.WebhookID,
) (controlplane.Webhook, error) {
	r, err := t.q.GetWebhookByID(ctx, string(id))
	if err != nil {
		return controlplane.Webhook{}, fmt.Errorf("load webhook: %w",
			translateMissing(err, "webhook", string(id)))
	}
	return toWebhook(r), nil
}

// ListWebhooks returns up to most webhooks after the name.
func (t *Tx) ListWebhooks(
	ctx context.Context, after string, most int,
) ([]controlplane.Webhook, error) {
	rows, err := t.q.ListWebhooks(ctx, after, int32(most))
	if err != nil {
		return nil, fmt.Errorf("list webhooks: %w", err)
	}
	return toWebhooks(rows), nil
}

// ActiveWebhooks returns the webhooks that notices are queued for.
func (t *Tx) ActiveWebhooks(ctx context.Context) ([]controlplane.Webhook, error) {
	rows, err := t.q.ListActiveWebhooks(ctx)
	if err != nil {
		return nil, fmt.Errorf("list active webhooks: %w", err)
	}
	return toWebhooks(rows), nil
}

func toWebhooks(rows []dbsqlc.Webhook) []controlplane.Webhook {
	all := make([]controlplane.Webhook, len(rows))
	for i, r := range rows {
		all[i] = toWebhook(r)
	}
	return all
}

// PutWebhook inserts a webhook or replaces the one of that id.
func (t *Tx) PutWebhook(ctx context.Context, w controlplane.Webhook) error {
	err := t.q.PutWebhook(ctx, dbsqlc.PutWebhookParams{ID: string(w.ID), Name: w.Name,
		Kind: string(w.Kind), Host: w.Host, Project: w.Project, Environment: w.Environment,
		Events: toStrings(w.Events), Template: w.Template, Active: w.Active, CreatedBy: w.CreatedBy})
	if err != nil {
		return fmt.Errorf("store webhook: %w", translateError(err))
	}
	return nil
}

// DeleteWebhook removes it with its delivery log.
func (t *Tx) DeleteWebhook(ctx context.Context, id controlplane.WebhookID) error {
	if err := t.q.DeleteWebhook(ctx, string(id)); err != nil {
		return fmt.Errorf("delete webhook: %w", translateError(err))
	}
	return nil
}

func toNotificationChoices(rows []dbsqlc.NotificationChoice) []controlplane.NotificationChoice {
	all := make([]controlplane.NotificationChoice, len(rows))
	for i, r := range rows {
		all[i] = controlplane.NotificationChoice{User: controlplane.UserID(r.UserID),
			Email: r.Email, Project: r.Project, Environment: r.Environment, Events: r.Events,
			Mine: r.Mine}
	}
	return all
}

// NotificationChoices returns the notifications that one user has chosen.
func (t *Tx) NotificationChoices(
	ctx context.Context, user controlplane.UserID,
) ([]controlplane.NotificationChoice, error) {
	rows, err := t.q.ListNotificationChoices(ctx, string(user))
	if err != nil {
		return nil, fmt.Errorf("list notification choices: %w", err)
	}
	return toNotificationChoices(rows), nil
}

// AllNotificationChoices returns the notifications that all active users have chosen.
func (t *Tx) AllNotificationChoices(
	ctx context.Context,
) ([]controlplane.NotificationChoice, error) {
	rows, err := t.q.ListAllNotificationChoices(ctx)
	if err != nil {
		return nil, fmt.Errorf("list notification choices: %w", err)
	}
	return toNotificationChoices(rows), nil
}

// SetNotificationChoices replaces what one person wants to hear of.
func (t *Tx) SetNotificationChoices(
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

// TakeNotices takes the oldest notices out of the outbox.
func (t *Tx) TakeNotices(ctx context.Context, most int) ([]controlplane.Notice, error) {
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

func toDelivery(r dbsqlc.Delivery) controlplane.Delivery {
	return controlplane.Delivery{ID: controlplane.DeliveryID(r.ID),
		Webhook: emptyIfNull[controlplane.WebhookID](r.WebhookID),
		User:    emptyIfNull[controlplane.UserID](r.UserID), Email: r.Email, Event: r.Event,
		Subject: r.Subject, Body: r.Body, Status: controlplane.DeliveryStatus(r.Status),
		Attempts: int(r.Attempts), DueAt: r.DueAt, Answer: int(r.Answer), Error: r.Error,
		CreatedAt: r.CreatedAt, EndedAt: r.EndedAt}
}

func toDeliveries(rows []dbsqlc.Delivery) []controlplane.Delivery {
	all := make([]controlplane.Delivery, len(rows))
	for i, r := range rows {
		all[i] = toDelivery(r)
	}
	return all
}

// InsertDelivery adds something to send; with a time, the caller claims it
// until then.
func (t *Tx) InsertDelivery(
	ctx context.Context, d controlplane.Delivery, claimed time.Time,
) error {
	err := t.q.InsertDelivery(ctx, dbsqlc.InsertDeliveryParams{ID: string(d.ID),
		WebhookID: nullIfEmpty(d.Webhook), UserID: nullIfEmpty(d.User), Email: d.Email, Event: d.Event,
		Subject: d.Subject, Body: d.Body, ClaimedUntil: nullIfZero(claimed)})
	if err != nil {
		return fmt.Errorf("insert delivery: %w", translateError(err))
	}
	return nil
}

// ClaimDeliveries takes what is due for as long as sending may last.
func (t *Tx) ClaimDeliveries(
	ctx context.Context, hold time.Duration, most int,
) ([]controlplane.Delivery, error) {
	rows, err := t.q.ClaimDeliveries(ctx, hold.Seconds(), int32(most))
	if err != nil {
		return nil, fmt.Errorf("claim deliveries: %w", err)
	}
	return toDeliveries(rows), nil
}

// EndDelivery writes down how an attempt went.
func (t *Tx) EndDelivery(ctx context.Context, d controlplane.Delivery) error {
	err := t.q.EndDelivery(ctx, dbsqlc.EndDeliveryParams{ID: string(d.ID),
		Status: string(d.Status), Answer: int32(d.Answer), Error: d.Error, DueAt: d.DueAt})
	if err != nil {
		return fmt.Errorf("end delivery: %w", translateError(err))
	}
	return nil
}

// Delivery loads one delivery of a webhook.
func (t *Tx) Delivery(ctx context.Context, id controlplane.DeliveryID,
	hook controlplane.WebhookID) (controlplane.Delivery, error) {
	if !controlplane.ValidID(string(id)) {
		return controlplane.Delivery{}, controlplane.NewNotFoundError("delivery", string(id))
	}
	r, err := t.q.GetDelivery(ctx, string(id), nullIfEmpty(hook))
	if err != nil {
		return controlplane.Delivery{}, translateMissing(err, "delivery", string(id))
	}
	return toDelivery(r), nil
}

// ListDeliveries returns a webhook's deliveries, newest first.
func (t *Tx) ListDeliveries(ctx context.Context, hook controlplane.WebhookID,
	before controlplane.DeliveryID, most int) ([]controlplane.Delivery, error) {
	rows, err := t.q.ListDeliveries(ctx, nullIfEmpty(hook), nullIfEmpty(before), int32(most))
	if err != nil {
		return nil, fmt.Errorf("list deliveries: %w", err)
	}
	return toDeliveries(rows), nil
}

// ForgetDeliveries deletes at most so many that ended before the time.
func (t *Tx) ForgetDeliveries(ctx context.Context, before time.Time, most int) (int, error) {
	n, err := t.q.ForgetDeliveries(ctx, nullIfZero(before), int32(most))
	if err != nil {
		return 0, fmt.Errorf("forget deliveries: %w", err)
	}
	return int(n), nil
}
