package api

import (
	"context"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/notify"
)

func (s *server) ListWebhooks(
	ctx context.Context, r ListWebhooksRequestObject,
) (ListWebhooksResponseObject, error) {
	all, next, err := s.Notify.ListWebhooks(ctx, actorOf(ctx), page(r.Params.Cursor, r.Params.Limit))
	if err != nil {
		return nil, err
	}
	return ListWebhooks200JSONResponse{Items: each(all, webhook), NextCursor: some(next)}, nil
}

func (s *server) GetWebhook(
	ctx context.Context, r GetWebhookRequestObject,
) (GetWebhookResponseObject, error) {
	w, err := s.Notify.GetWebhook(ctx, actorOf(ctx), r.Name)
	if err != nil {
		return nil, err
	}
	return GetWebhook200JSONResponse(webhook(w)), nil
}

func (s *server) PutWebhook(
	ctx context.Context, r PutWebhookRequestObject,
) (PutWebhookResponseObject, error) {
	saved, err := s.Notify.PutWebhook(ctx, actorOf(ctx), notify.WebhookPut{Name: r.Name,
		Kind: controlplane.WebhookKind(r.Body.Kind), URL: secretValue(r.Body.Url),
		Secret: secretValue(r.Body.Secret), Project: or(r.Body.Project, ""),
		Environment: or(r.Body.Environment, ""), Events: each(r.Body.Events, eventName),
		Template: or(r.Body.Template, ""), Active: or(r.Body.Active, true)})
	if err != nil {
		return nil, err
	}
	out := PutWebhook200JSONResponse{Created: saved.Created, Changed: &saved.Changed,
		Webhook: webhook(saved.Webhook)}
	if !saved.Made.Empty() {
		out.Secret = some(saved.Made.Reveal())
	}
	return out, nil
}

func eventName(e NoticeEvent) string { return string(e) }

func (s *server) DeleteWebhook(
	ctx context.Context, r DeleteWebhookRequestObject,
) (DeleteWebhookResponseObject, error) {
	if err := s.Notify.DeleteWebhook(ctx, actorOf(ctx), r.Name); err != nil {
		return nil, err
	}
	return DeleteWebhook204Response{}, nil
}

func (s *server) TestWebhook(
	ctx context.Context, r TestWebhookRequestObject,
) (TestWebhookResponseObject, error) {
	d, err := s.Notify.Test(ctx, actorOf(ctx), r.Name)
	if err != nil {
		return nil, err
	}
	return TestWebhook200JSONResponse(delivery(d)), nil
}

func (s *server) ListDeliveries(
	ctx context.Context, r ListDeliveriesRequestObject,
) (ListDeliveriesResponseObject, error) {
	all, next, err := s.Notify.Deliveries(ctx, actorOf(ctx), r.Name,
		page(r.Params.Cursor, r.Params.Limit))
	if err != nil {
		return nil, err
	}
	return ListDeliveries200JSONResponse{Items: each(all, delivery), NextCursor: some(next)}, nil
}

func (s *server) Redeliver(
	ctx context.Context, r RedeliverRequestObject,
) (RedeliverResponseObject, error) {
	d, err := s.Notify.Redeliver(ctx, actorOf(ctx), r.Name, controlplane.DeliveryID(r.Id))
	if err != nil {
		return nil, err
	}
	return Redeliver200JSONResponse(delivery(d)), nil
}

func (s *server) GetNotifications(
	ctx context.Context, _ GetNotificationsRequestObject,
) (GetNotificationsResponseObject, error) {
	n, err := s.notifications(ctx)
	return GetNotifications200JSONResponse(n), err
}

func (s *server) PutNotifications(
	ctx context.Context, r PutNotificationsRequestObject,
) (PutNotificationsResponseObject, error) {
	all := each(r.Body.Choices, func(c NotificationChoice) controlplane.NotificationChoice {
		return controlplane.NotificationChoice{Email: c.Email, Project: or(c.Project, ""),
			Environment: or(c.Environment, ""), Events: each(c.Events, eventName),
			Mine: or(c.Mine, false)}
	})
	if err := s.Notify.SetChoices(ctx, actorOf(ctx), all); err != nil {
		return nil, err
	}
	n, err := s.notifications(ctx)
	return PutNotifications200JSONResponse(n), err
}

func (s *server) notifications(ctx context.Context) (Notifications, error) {
	all, available, err := s.Notify.Choices(ctx, actorOf(ctx))
	return Notifications{Available: available, Choices: each(all, choice)}, err
}

func choice(c controlplane.NotificationChoice) NotificationChoice {
	return NotificationChoice{Email: c.Email, Project: some(c.Project),
		Environment: some(c.Environment), Events: each(c.Events, noticeEvent), Mine: some(c.Mine)}
}

func noticeEvent(e string) NoticeEvent { return NoticeEvent(e) }

func webhook(w controlplane.Webhook) Webhook {
	return Webhook{Name: w.Name, Kind: WebhookKind(w.Kind), Host: w.Host, Project: some(w.Project),
		Environment: some(w.Environment), Events: each(w.Events, noticeEvent),
		Template: some(w.Template), Active: w.Active, CreatedBy: w.CreatedBy,
		CreatedAt: w.CreatedAt}
}

func delivery(d controlplane.Delivery) Delivery {
	out := Delivery{Id: string(d.ID), Event: d.Event, Status: DeliveryStatus(d.Status),
		Attempts: d.Attempts, Answer: some(d.Answer), Error: some(d.Error), Body: d.Body,
		CreatedAt: d.CreatedAt, EndedAt: d.EndedAt}
	if d.Status == controlplane.DeliveryWaiting {
		out.DueAt = &d.DueAt
	}
	return out
}
