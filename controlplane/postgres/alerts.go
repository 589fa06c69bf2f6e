package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
)

// Alerts is the handle for alerts and their silences.
type Alerts struct{ subject }

// Alerts returns the handle in this transaction.
func (t *Tx) Alerts() Alerts { return Alerts{t.subject()} }

// AlertLimits are from when on something is a cause.
type AlertLimits struct {
	// Flaps is how often within an hour a node goes offline.
	Flaps int
	// DiskFloor is that of nodes without one of their own, in bytes.
	DiskFloor int64
	// Queue is how long a run waits, Backup how old the last backup is, Lag how late events are,
	// and Routes how old the routes of an ingress are.
	Queue, Backup, Lag, Routes time.Duration
	// Database is the size of the database in bytes; 0 is no limit.
	Database int64
}

// ListCauses returns everything in the database that is a cause now.
func (t Alerts) ListCauses(
	ctx context.Context, l AlertLimits,
) ([]controlplane.AlertCause, error) {
	rows, err := t.q.ListAlertCauses(ctx, dbsqlc.ListAlertCausesParams{Flaps: int32(l.Flaps),
		DiskFloor: l.DiskFloor, QueueSeconds: l.Queue.Seconds(), BackupSeconds: l.Backup.Seconds(),
		LagSeconds: l.Lag.Seconds(), RoutesSeconds: l.Routes.Seconds(), DatabaseLimit: l.Database,
		Tampered: controlplane.AlertTampered})
	if err != nil {
		return nil, fmt.Errorf("list causes of alerts: %w", err)
	}
	all := make([]controlplane.AlertCause, len(rows))
	for i, r := range rows {
		all[i] = controlplane.AlertCause{Condition: r.Condition, Subject: r.Subject,
			Label: r.Label, Detail: r.Detail,
			Project:     controlplane.ProjectID(r.ProjectID),
			Environment: controlplane.EnvironmentID(r.EnvironmentID),
			Deployment:  controlplane.DeploymentID(r.DeploymentID),
			Node:        controlplane.NodeID(r.NodeID)}
	}
	return all, nil
}

// Start starts the alerts of causes, or goes on with them. They count after their delay.
func (t Alerts) Start(ctx context.Context, all []controlplane.AlertStart) error {
	if len(all) == 0 {
		return nil
	}
	var p dbsqlc.StartAlertsParams
	for _, a := range all {
		p.Ids = append(p.Ids, controlplane.NewID[string]())
		p.Conditions = append(p.Conditions, a.Condition)
		p.Subjects = append(p.Subjects, escapeUnstorable(a.Subject))
		p.Severities = append(p.Severities, string(a.Severity))
		p.Labels = append(p.Labels, escapeUnstorable(a.Label))
		p.Details = append(p.Details, escapeUnstorable(a.Detail))
		p.Projects = append(p.Projects, string(a.Project))
		p.Environments = append(p.Environments, string(a.Environment))
		p.Deployments = append(p.Deployments, string(a.Deployment))
		p.Nodes = append(p.Nodes, string(a.Node))
		p.Delays = append(p.Delays, a.Delay.Seconds())
	}
	if err := t.q.StartAlerts(ctx, p); err != nil {
		return fmt.Errorf("start alerts: %w", translateError(err))
	}
	return nil
}

// EndOthers ends the alerts of the conditions that have no cause any more.
func (t Alerts) EndOthers(
	ctx context.Context, conditions []string, causes []controlplane.AlertCause,
) error {
	var seen, subjects []string
	for _, c := range causes {
		seen, subjects = append(seen, c.Condition), append(subjects, escapeUnstorable(c.Subject))
	}
	if err := t.q.ForgetShortAlerts(ctx, conditions, seen, subjects); err != nil {
		return fmt.Errorf("forget short alerts: %w", err)
	}
	if err := t.q.EndAlerts(ctx, conditions, seen, subjects); err != nil {
		return fmt.Errorf("end alerts: %w", err)
	}
	return nil
}

// Announce puts the starts and ends of which nobody was told into the outbox.
func (t Alerts) Announce(ctx context.Context, base string) error {
	starts, err := t.q.ListAlertStarts(ctx)
	if err != nil {
		return fmt.Errorf("list alerts that started: %w", err)
	}
	ends, err := t.q.ListAlertEnds(ctx)
	if err != nil {
		return fmt.Errorf("list alerts that ended: %w", err)
	}
	for event, rows := range map[string][]dbsqlc.Alert{
		"alert.started": starts, "alert.ended": ends,
	} {
		for _, r := range rows {
			if err := t.announce(ctx, event, base, r); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t Alerts) announce(ctx context.Context, event, base string, r dbsqlc.Alert) error {
	a, err := t.Get(ctx, controlplane.AlertID(r.ID))
	if err != nil {
		return err
	}
	data, err := a.Notice(base)
	if err != nil {
		return err
	}
	err = t.q.InsertAlertNotice(ctx, dbsqlc.InsertAlertNoticeParams{Event: event,
		DeploymentID: r.DeploymentID, NodeID: r.NodeID, Data: data})
	if err != nil {
		return fmt.Errorf("announce alert %s: %w", r.Condition, err)
	}
	// The notifier looks by itself too; this is so that it does so at once.
	t.tx.NotifyOnCommit(controlplane.TopicDeployment, string(a.Deployment))
	return nil
}

// DeleteOld deletes alerts that ended long ago, and silences that are over.
func (t Alerts) DeleteOld(ctx context.Context) error {
	if err := t.q.DeleteOldAlerts(ctx); err != nil {
		return fmt.Errorf("delete old alerts: %w", err)
	}
	if err := t.q.DeleteEndedSilences(ctx); err != nil {
		return fmt.Errorf("delete silences: %w", err)
	}
	return nil
}

// List returns up to most alerts, those that are active first; ended adds the others.
func (t Alerts) List(ctx context.Context, ended bool, most int) ([]controlplane.Alert, error) {
	rows, err := t.q.ListAlerts(ctx, ended, int32(most))
	if err != nil {
		return nil, fmt.Errorf("list alerts: %w", err)
	}
	all := make([]controlplane.Alert, len(rows))
	for i, r := range rows {
		all[i] = toAlert(dbsqlc.GetAlertRow(r))
	}
	return all, nil
}

// Get returns one alert.
func (t Alerts) Get(
	ctx context.Context, id controlplane.AlertID,
) (a controlplane.Alert, err error) {
	r, err := t.q.GetAlert(ctx, string(id))
	if err != nil {
		return a, fmt.Errorf("load alert: %w", translateMissing(err, "alert", string(id)))
	}
	return toAlert(r), nil
}

func toAlert(r dbsqlc.GetAlertRow) controlplane.Alert {
	return controlplane.Alert{ID: controlplane.AlertID(r.ID),
		Severity: controlplane.Severity(r.Severity),
		AlertCause: controlplane.AlertCause{Condition: r.Condition, Subject: r.Subject,
			Label: r.Label, Detail: r.Detail,
			Project:     emptyIfNull[controlplane.ProjectID](r.ProjectID),
			Environment: emptyIfNull[controlplane.EnvironmentID](r.EnvironmentID),
			Deployment:  emptyIfNull[controlplane.DeploymentID](r.DeploymentID),
			Node:        emptyIfNull[controlplane.NodeID](r.NodeID)},
		NodeName: r.Node, EnvironmentName: r.Environment, Restricted: r.Restricted,
		StartedAt: r.StartedAt, EndedAt: r.EndedAt,
		AcknowledgedAt: r.AcknowledgedAt, AcknowledgedBy: r.AcknowledgedBy,
		Silence: controlplane.AlertSilence{Until: r.SilencedUntil, Reason: r.SilenceReason,
			By: r.SilencedBy}}
}

// Acknowledge notes who looks after an alert.
func (t Alerts) Acknowledge(ctx context.Context, id controlplane.AlertID, by string) error {
	if err := t.q.AcknowledgeAlert(ctx, by, string(id)); err != nil {
		return fmt.Errorf("acknowledge alert: %w", translateError(err))
	}
	return nil
}

// Silence keeps notifications about the alert's condition and subject back.
func (t Alerts) Silence(
	ctx context.Context, a controlplane.Alert, until time.Time, reason, by string,
) error {
	err := t.q.PutAlertSilence(ctx, dbsqlc.PutAlertSilenceParams{Condition: a.Condition,
		Subject: a.Subject, Until: until, Reason: reason, CreatedBy: by})
	if err != nil {
		return fmt.Errorf("silence alert: %w", translateError(err))
	}
	return nil
}

// EndSilence ends the silence of the alert's condition and subject.
func (t Alerts) EndSilence(ctx context.Context, a controlplane.Alert) error {
	if err := t.q.DeleteAlertSilence(ctx, a.Condition, a.Subject); err != nil {
		return fmt.Errorf("end silence: %w", err)
	}
	return nil
}
