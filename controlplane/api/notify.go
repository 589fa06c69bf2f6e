package api

import (
	"context"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/notify"
)

func (s *server) ListWebhooks(
	ctx context.Context, r ListWebhooksRequestObject,
) (ListWebhooksResponseObject, error) {
	all, next, err := s.Notify.ListWebhooks(ctx, actorOf(ctx), toPage(r.Params.Cursor, r.Params.Limit))
	if err != nil {
		return nil, err
	}
	return ListWebhooks200JSONResponse{
		Items:      convertAll(all, toWebhook),
		NextCursor: ptrOrNil(next),
	}, nil
}

func (s *server) GetWebhook(
	ctx context.Context, r GetWebhookRequestObject,
) (GetWebhookResponseObject, error) {
	w, err := s.Notify.GetWebhook(ctx, actorOf(ctx), r.Name)
	if err != nil {
		return nil, err
	}
	return GetWebhook200JSONResponse(toWebhook(w)), nil
}

func (s *server) PutWebhook(
	ctx context.Context, r PutWebhookRequestObject,
) (PutWebhookResponseObject, error) {
	saved, err := s.Notify.PutWebhook(ctx, actorOf(ctx), notify.WebhookPut{Name: r.Name,
		Kind: controlplane.WebhookKind(r.Body.Kind), URL: secretValue(r.Body.Url),
		Secret: secretValue(r.Body.Secret), Project: valueOr(r.Body.Project, ""),
		Environment: valueOr(r.Body.Environment, ""), Events: convertAll(r.Body.Events, eventName),
		Template: valueOr(r.Body.Template, ""), Active: valueOr(r.Body.Active, true)})
	if err != nil {
		return nil, err
	}
	out := PutWebhook200JSONResponse{Created: saved.Created, Changed: &saved.Changed,
		Webhook: toWebhook(saved.Webhook)}
	if !saved.Made.IsEmpty() {
		out.Secret = ptrOrNil(saved.Made.Reveal())
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
	d, err := s.Notify.SendTestMessage(ctx, actorOf(ctx), r.Name)
	if err != nil {
		return nil, err
	}
	return TestWebhook200JSONResponse(toDelivery(d)), nil
}

func (s *server) ListDeliveries(
	ctx context.Context, r ListDeliveriesRequestObject,
) (ListDeliveriesResponseObject, error) {
	all, next, err := s.Notify.ListDeliveries(ctx, actorOf(ctx), r.Name,
		toPage(r.Params.Cursor, r.Params.Limit))
	if err != nil {
		return nil, err
	}
	return ListDeliveries200JSONResponse{
		Items:      convertAll(all, toDelivery),
		NextCursor: ptrOrNil(next),
	}, nil
}

func (s *server) Redeliver(
	ctx context.Context, r RedeliverRequestObject,
) (RedeliverResponseObject, error) {
	d, err := s.Notify.Redeliver(ctx, actorOf(ctx), r.Name, controlplane.DeliveryID(r.Id))
	if err != nil {
		return nil, err
	}
	return Redeliver200JSONResponse(toDelivery(d)), nil
}

func (s *server) GetNotifications(
	ctx context.Context, _ GetNotificationsRequestObject,
) (GetNotificationsResponseObject, error) {
	n, err := s.listNotifications(ctx)
	return GetNotifications200JSONResponse(n), err
}

func (s *server) PutNotifications(
	ctx context.Context, r PutNotificationsRequestObject,
) (PutNotificationsResponseObject, error) {
	all := convertAll(r.Body.Choices, func(c NotificationChoice) controlplane.NotificationChoice {
		return controlplane.NotificationChoice{Email: c.Email, Project: valueOr(c.Project, ""),
			Environment: valueOr(c.Environment, ""), Events: convertAll(c.Events, eventName),
			Mine: valueOr(c.Mine, false)}
	})
	if err := s.Notify.SetChoices(ctx, actorOf(ctx), all); err != nil {
		return nil, err
	}
	n, err := s.listNotifications(ctx)
	return PutNotifications200JSONResponse(n), err
}

func (s *server) listNotifications(ctx context.Context) (Notifications, error) {
	all, available, err := s.Notify.ListChoices(ctx, actorOf(ctx))
	return Notifications{Available: available, Choices: convertAll(all, toNotificationChoice)}, err
}

func toNotificationChoice(c controlplane.NotificationChoice) NotificationChoice {
	return NotificationChoice{Email: c.Email, Project: ptrOrNil(c.Project),
		Environment: ptrOrNil(
			c.Environment,
		), Events: convertAll(c.Events, noticeEvent), Mine: ptrOrNil(c.Mine)}
}

func noticeEvent(e string) NoticeEvent { return NoticeEvent(e) }

func toWebhook(w controlplane.Webhook) Webhook {
	return Webhook{Name: w.Name, Kind: WebhookKind(w.Kind), Host: w.Host, Project: ptrOrNil(w.Project),
		Environment: ptrOrNil(w.Environment), Events: convertAll(w.Events, noticeEvent),
		Template: ptrOrNil(w.Template), Active: w.Active, CreatedBy: w.CreatedBy,
		CreatedAt: w.CreatedAt}
}

func toDelivery(d controlplane.Delivery) Delivery {
	out := Delivery{Id: string(d.ID), Event: d.Event, Status: DeliveryStatus(d.Status),
		Attempts: d.Attempts, Answer: ptrOrNil(d.Answer), Error: ptrOrNil(d.Error), Body: d.Body,
		CreatedAt: d.CreatedAt, EndedAt: d.EndedAt}
	if d.Status == controlplane.DeliveryWaiting {
		out.DueAt = &d.DueAt
	}
	return out
}
