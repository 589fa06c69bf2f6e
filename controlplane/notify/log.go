package notify

import (
	"context"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// ListDeliveries returns one page of a webhook's deliveries, newest first.
func (n *Notifier) ListDeliveries(
	ctx context.Context, actor access.Actor, name string, p controlplane.Page,
) (all []controlplane.Delivery, next string, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return nil, "", err
	}
	if p.After != "" && !controlplane.ValidID(p.After) {
		return nil, "", controlplane.NewInvalidError("cursor", "cursor_invalid",
			"this cursor is not one of ours",
			"Begin again without a cursor.")
	}
	err = n.Store.Read(ctx, func(tx *postgres.Tx) error {
		w, err := tx.Webhooks().ByName(ctx, name)
		if err != nil {
			return err
		}
		all, err = tx.Deliveries().List(ctx, w.ID, controlplane.DeliveryID(p.After), p.FetchLimit())
		return err
	})
	all, next = controlplane.CutPage(
		p,
		all,
		func(d controlplane.Delivery) string { return string(d.ID) },
	)
	return all, next, err
}

// SendTestMessage sends a test message at once and returns the result.
func (n *Notifier) SendTestMessage(
	ctx context.Context, actor access.Actor, name string,
) (d controlplane.Delivery, err error) {
	return n.sendNow(ctx, actor, "test webhook", name, func(tx *postgres.Tx,
		w controlplane.Webhook) (controlplane.Delivery, error) {
		d := controlplane.Delivery{ID: controlplane.NewID[controlplane.DeliveryID](),
			Webhook: w.ID, Event: "test"}
		var err error
		d.Body, err = message{Event: "test", At: time.Now().UTC()}.webhookBody(d.ID, w)
		return d, err
	})
}

// Redeliver sends a message again, with a new signature and as a delivery of its own.
func (n *Notifier) Redeliver(ctx context.Context, actor access.Actor, name string,
	id controlplane.DeliveryID) (controlplane.Delivery, error) {
	return n.sendNow(ctx, actor, "redeliver webhook", name, func(tx *postgres.Tx,
		w controlplane.Webhook) (controlplane.Delivery, error) {
		d, err := tx.Deliveries().Get(ctx, id, w.ID)
		d.ID = controlplane.NewID[controlplane.DeliveryID]()
		return d, err
	})
}

// sendNow stores a delivery as claimed, and sends it.
func (n *Notifier) sendNow(ctx context.Context, actor access.Actor, action, name string,
	form func(*postgres.Tx, controlplane.Webhook) (controlplane.Delivery, error),
) (d controlplane.Delivery, err error) {
	err = n.changeWebhook(ctx, actor, action, name, func(tx *postgres.Tx) error {
		w, err := tx.Webhooks().ByName(ctx, name)
		if err != nil {
			return err
		}
		if d, err = form(tx, w); err != nil {
			return err
		}
		return tx.Deliveries().Insert(ctx, d, time.Now().Add(holdFor))
	})
	if err != nil {
		return d, err
	}
	// Do not retry: the admin sees the error at once.
	d.Attempts, d.CreatedAt = maxAttempts, time.Now().UTC()
	if d, err = n.attemptDelivery(ctx, d); err != nil {
		return d, err
	}
	ended := time.Now().UTC()
	d.Attempts, d.EndedAt = 1, &ended
	return d, nil
}
