package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
)

func toAccessRequest(r dbsqlc.AccessRequest, name string) controlplane.AccessRequest {
	return controlplane.AccessRequest{ID: controlplane.AccessRequestID(r.ID),
		User: controlplane.UserID(r.UserID), UserName: name, Object: r.Object, Note: r.Note, At: r.At}
}

// Insert stores a request; made is false if the person waits for the same already.
func (t AccessRequests) Insert(
	ctx context.Context, r controlplane.AccessRequest,
) (made bool, err error) {
	n, err := t.q.InsertAccessRequest(ctx, dbsqlc.InsertAccessRequestParams{ID: string(r.ID),
		UserID: string(r.User), Object: r.Object, Note: r.Note})
	if err != nil {
		return false, fmt.Errorf("store access request: %w", translateError(err))
	}
	return n == 1, nil
}

// GetOpen returns what a person asked for and still waits for.
func (t AccessRequests) GetOpen(
	ctx context.Context, user controlplane.UserID, object string,
) (controlplane.AccessRequest, error) {
	r, err := t.q.GetOpenAccessRequest(ctx, string(user), object)
	if err != nil {
		return controlplane.AccessRequest{}, fmt.Errorf("load access request: %w",
			translateMissing(err, "access request", object))
	}
	return toAccessRequest(r.AccessRequest, r.Name), nil
}

// List returns requests that wait, the newest first: those of one person, or of all if user is
// empty.
func (t AccessRequests) List(
	ctx context.Context, user controlplane.UserID, most int,
) ([]controlplane.AccessRequest, error) {
	rows, err := t.q.ListAccessRequests(ctx, nullIfEmpty(user), int32(most))
	if err != nil {
		return nil, fmt.Errorf("list access requests: %w", err)
	}
	all := make([]controlplane.AccessRequest, len(rows))
	for i, r := range rows {
		all[i] = toAccessRequest(r.AccessRequest, r.Name)
	}
	return all, nil
}

// CountSince returns how many requests a person made since a time.
func (t AccessRequests) CountSince(
	ctx context.Context, user controlplane.UserID, since time.Time,
) (int, error) {
	n, err := t.q.CountAccessRequests(ctx, string(user), since)
	if err != nil {
		return 0, fmt.Errorf("count access requests: %w", err)
	}
	return int(n), nil
}

// Close ends a request, once.
func (t AccessRequests) Close(
	ctx context.Context, id controlplane.AccessRequestID, by string,
) (controlplane.AccessRequest, error) {
	r, err := t.q.CloseAccessRequest(ctx, by, string(id))
	if err != nil {
		return controlplane.AccessRequest{}, fmt.Errorf("close access request: %w",
			translateMissing(err, "access request", string(id)))
	}
	return toAccessRequest(r.AccessRequest, r.Name), nil
}

// DeleteOld deletes up to most requests that were closed before the time.
func (t AccessRequests) DeleteOld(ctx context.Context, before time.Time, most int) (int, error) {
	n, err := t.q.DeleteOldAccessRequests(ctx, &before, int32(most))
	if err != nil {
		return 0, fmt.Errorf("delete access requests: %w", err)
	}
	return int(n), nil
}
