package api

import (
	"context"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
)

func (s *server) ListAlerts(
	ctx context.Context, r ListAlertsRequestObject,
) (ListAlertsResponseObject, error) {
	all, err := s.Alerts.List(ctx, actorOf(ctx), valueOr(r.Params.Ended, false))
	if err != nil {
		return nil, err
	}
	return ListAlerts200JSONResponse{Items: convertAll(all,
		func(a controlplane.Alert) Alert { return toAlert(ctx, a) })}, nil
}

func (s *server) AcknowledgeAlert(
	ctx context.Context, r AcknowledgeAlertRequestObject,
) (AcknowledgeAlertResponseObject, error) {
	a, err := s.Alerts.Acknowledge(ctx, actorOf(ctx), controlplane.AlertID(r.Id))
	if err != nil {
		return nil, err
	}
	return AcknowledgeAlert200JSONResponse(toAlert(ctx, a)), nil
}

func (s *server) SilenceAlert(
	ctx context.Context, r SilenceAlertRequestObject,
) (SilenceAlertResponseObject, error) {
	a, err := s.Alerts.Silence(ctx, actorOf(ctx), controlplane.AlertID(r.Id), r.Body.Until,
		valueOr(r.Body.Reason, ""))
	if err != nil {
		return nil, err
	}
	return SilenceAlert200JSONResponse(toAlert(ctx, a)), nil
}

func (s *server) EndAlertSilence(
	ctx context.Context, r EndAlertSilenceRequestObject,
) (EndAlertSilenceResponseObject, error) {
	a, err := s.Alerts.EndSilence(ctx, actorOf(ctx), controlplane.AlertID(r.Id))
	if err != nil {
		return nil, err
	}
	return EndAlertSilence200JSONResponse(toAlert(ctx, a)), nil
}

func toAlert(ctx context.Context, a controlplane.Alert) Alert {
	return Alert{Id: string(a.ID), Condition: a.Condition, Severity: AlertSeverity(a.Severity),
		Subject: a.Label, Summary: a.Summary(), Remedy: a.Remedy(), Link: a.Link(),
		Deployment: ptrOrNil(string(a.Deployment)), Node: ptrOrNil(a.NodeName),
		StartedAt: a.StartedAt, EndedAt: a.EndedAt, AcknowledgedAt: a.AcknowledgedAt,
		AcknowledgedBy: ptrOrNil(a.AcknowledgedBy), SilencedUntil: a.Silence.Until,
		SilencedBy: ptrOrNil(a.Silence.By), SilenceReason: ptrOrNil(a.Silence.Reason),
		CanChange: a.EndedAt == nil &&
			access.CheckAlert(actorOf(ctx), access.WriteDeployment, a) == nil}
}
