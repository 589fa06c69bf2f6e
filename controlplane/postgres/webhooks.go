package postgres

import (
	"context"
	"fmt"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
)

func toWebhook(r dbsqlc.Webhook) controlplane.Webhook {
	return controlplane.Webhook{ID: controlplane.WebhookID(r.ID), Name: r.Name,
		Kind: controlplane.WebhookKind(r.Kind), Host: r.Host, Project: r.Project,
		Environment: r.Environment, Events: r.Events, Template: r.Template, Active: r.Active,
		CreatedBy: r.CreatedBy, CreatedAt: r.CreatedAt}
}

// ByName loads a webhook; not found is a *controlplane.Error.
func (t Webhooks) ByName(ctx context.Context, name string) (controlplane.Webhook, error) {
	r, err := t.q.GetWebhook(ctx, name)
	if err != nil {
		return controlplane.Webhook{}, fmt.Errorf(
			"load webhook: %w",
			translateMissing(err, "webhook", name),
		)
	}
	return toWebhook(r), nil
}

// ByID loads the webhook of a delivery.
func (t Webhooks) ByID(
	ctx context.Context, id controlplane.WebhookID,
) (controlplane.Webhook, error) {
	r, err := t.q.GetWebhookByID(ctx, string(id))
	if err != nil {
		return controlplane.Webhook{}, fmt.Errorf("load webhook: %w",
			translateMissing(err, "webhook", string(id)))
	}
	return toWebhook(r), nil
}

// List returns up to most webhooks after the name.
func (t Webhooks) List(
	ctx context.Context, after string, most int,
) ([]controlplane.Webhook, error) {
	rows, err := t.q.ListWebhooks(ctx, after, int32(most))
	if err != nil {
		return nil, fmt.Errorf("list webhooks: %w", err)
	}
	return toWebhooks(rows), nil
}

// ListActive returns the webhooks that notices are queued for.
func (t Webhooks) ListActive(ctx context.Context) ([]controlplane.Webhook, error) {
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

// Put inserts a webhook or replaces the one of that id.
func (t Webhooks) Put(ctx context.Context, w controlplane.Webhook) error {
	err := t.q.PutWebhook(ctx, dbsqlc.PutWebhookParams{ID: string(w.ID), Name: w.Name,
		Kind: string(w.Kind), Host: w.Host, Project: w.Project, Environment: w.Environment,
		Events: toStrings(w.Events), Template: w.Template, Active: w.Active, CreatedBy: w.CreatedBy})
	if err != nil {
		return fmt.Errorf("store webhook: %w", translateError(err))
	}
	return nil
}

// Delete removes it with its delivery log.
func (t Webhooks) Delete(ctx context.Context, id controlplane.WebhookID) error {
	if err := t.q.DeleteWebhook(ctx, string(id)); err != nil {
		return fmt.Errorf("delete webhook: %w", translateError(err))
	}
	return nil
}
