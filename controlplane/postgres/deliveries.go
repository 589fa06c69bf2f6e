package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
)

func toDelivery(r dbsqlc.Delivery) controlplane.Delivery {
	return controlplane.Delivery{ID: controlplane.DeliveryID(r.ID),
		Webhook: emptyIfNull[controlplane.WebhookID](r.WebhookID),
		User:    emptyIfNull[controlplane.UserID](r.UserID), Email: r.Email, Event: r.Event,
		Subject: r.Subject, Body: r.Body, Status: controlplane.DeliveryStatus(r.Status),
		Attempts: int(r.Attempts), DueAt: r.DueAt, Answer: int(r.Answer), Error: r.Error,
		CreatedAt: r.CreatedAt, EndedAt: r.EndedAt, Traceparent: r.Traceparent}
}

func toDeliveries(rows []dbsqlc.Delivery) []controlplane.Delivery {
	all := make([]controlplane.Delivery, len(rows))
	for i, r := range rows {
		all[i] = toDelivery(r)
	}
	return all
}

// Insert adds something to send; with a time, the caller claims it
// until then.
func (t Deliveries) Insert(
	ctx context.Context, d controlplane.Delivery, claimed time.Time,
) error {
	err := t.q.InsertDelivery(ctx, dbsqlc.InsertDeliveryParams{ID: string(d.ID),
		WebhookID: nullIfEmpty(d.Webhook), UserID: nullIfEmpty(d.User), Email: d.Email, Event: d.Event,
		Subject: d.Subject, Body: d.Body, ClaimedUntil: nullIfZero(claimed),
		Traceparent: d.Traceparent})
	if err != nil {
		return fmt.Errorf("insert delivery: %w", translateError(err))
	}
	return nil
}

// Claim takes what is due for as long as sending may last.
func (t Deliveries) Claim(
	ctx context.Context, hold time.Duration, most int,
) ([]controlplane.Delivery, error) {
	rows, err := t.q.ClaimDeliveries(ctx, hold.Seconds(), int32(most))
	if err != nil {
		return nil, fmt.Errorf("claim deliveries: %w", err)
	}
	return toDeliveries(rows), nil
}

// End stores the result of an attempt.
func (t Deliveries) End(ctx context.Context, d controlplane.Delivery) error {
	err := t.q.EndDelivery(ctx, dbsqlc.EndDeliveryParams{ID: string(d.ID),
		Status: string(d.Status), Answer: int32(d.Answer), Error: d.Error, DueAt: d.DueAt})
	if err != nil {
		return fmt.Errorf("end delivery: %w", translateError(err))
	}
	return nil
}

// Get loads one delivery of a webhook.
func (t Deliveries) Get(ctx context.Context, id controlplane.DeliveryID,
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

// List returns a webhook's deliveries, newest first.
func (t Deliveries) List(ctx context.Context, hook controlplane.WebhookID,
	before controlplane.DeliveryID, most int) ([]controlplane.Delivery, error) {
	rows, err := t.q.ListDeliveries(ctx, nullIfEmpty(hook), nullIfEmpty(before), int32(most))
	if err != nil {
		return nil, fmt.Errorf("list deliveries: %w", err)
	}
	return toDeliveries(rows), nil
}

// DeleteOld deletes at most so many that ended before the time.
func (t Deliveries) DeleteOld(ctx context.Context, before time.Time, most int) (int, error) {
	n, err := t.q.ForgetDeliveries(ctx, nullIfZero(before), int32(most))
	if err != nil {
		return 0, fmt.Errorf("forget deliveries: %w", err)
	}
	return int(n), nil
}
