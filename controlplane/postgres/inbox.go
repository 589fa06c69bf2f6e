package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
)

// Add stores a notice for its person. What is too long is cut.
func (t Inbox) Add(ctx context.Context, n controlplane.PersonNotice) error {
	n = n.Clipped()
	err := t.q.InsertPersonNotice(ctx, dbsqlc.InsertPersonNoticeParams{
		ID: string(controlplane.NewID[controlplane.PersonNoticeID]()), UserID: string(n.User),
		Kind: string(n.Kind), DeploymentID: nullIfEmpty(n.Deployment), ByName: n.By,
		Subject: n.Subject, Body: n.Body, Link: n.Link})
	if err != nil {
		return fmt.Errorf("store notice: %w", translateError(err))
	}
	return nil
}

// PlacedNotice is a notice and what access asks about its deployment.
type PlacedNotice struct {
	controlplane.PersonNotice
	Project     controlplane.ProjectID
	Environment controlplane.EnvironmentID
	Restricted  bool
}

// List returns a person's newest notices, the newest first.
func (t Inbox) List(
	ctx context.Context, user controlplane.UserID, most int,
) ([]PlacedNotice, error) {
	rows, err := t.q.ListPersonNotices(ctx, string(user), int32(most))
	if err != nil {
		return nil, fmt.Errorf("list notices: %w", err)
	}
	all := make([]PlacedNotice, len(rows))
	for i, r := range rows {
		all[i] = PlacedNotice{
			PersonNotice: controlplane.PersonNotice{
				ID: controlplane.PersonNoticeID(r.ID), User: controlplane.UserID(r.UserID),
				Kind:       controlplane.PersonNoticeKind(r.Kind),
				Deployment: emptyIfNull[controlplane.DeploymentID](r.DeploymentID), By: r.ByName,
				Subject: r.Subject, Body: r.Body, Link: r.Link, At: r.At, ReadAt: r.ReadAt},
			Project:     emptyIfNull[controlplane.ProjectID](r.ProjectID),
			Environment: emptyIfNull[controlplane.EnvironmentID](r.EnvironmentID),
			Restricted:  r.Restricted}
	}
	return all, nil
}

// Mark says which of a person's notices they have read, or want to read again.
func (t Inbox) Mark(
	ctx context.Context, user controlplane.UserID, ids []controlplane.PersonNoticeID, read bool,
) error {
	_, err := t.q.MarkPersonNotices(ctx, read, string(user), toStrings(ids))
	if err != nil {
		return fmt.Errorf("mark notices: %w", err)
	}
	return nil
}

// DeleteOld deletes up to most notices from before the time, and returns how many.
func (t Inbox) DeleteOld(ctx context.Context, before time.Time, most int) (int, error) {
	n, err := t.q.DeleteOldPersonNotices(ctx, before, int32(most))
	if err != nil {
		return 0, fmt.Errorf("delete notices: %w", err)
	}
	return int(n), nil
}
