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

func toLink(r dbsqlc.Link) controlplane.Link {
	return controlplane.Link{
		ID: controlplane.LinkID(r.ID), Kind: controlplane.LinkKind(r.Kind),
		User: emptyIfNull[controlplane.UserID](r.UserID), Address: r.Address,
		Role: controlplane.Role(r.Role), Teams: r.Teams, CreatedBy: r.CreatedBy,
		CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt,
	}
}

// Put stores a link under the hash of what opens it, in place of the one
// before.
func (t Links) Put(ctx context.Context, l controlplane.Link, hash [32]byte) error {
	var err error
	if l.Kind == controlplane.LinkReset {
		err = t.q.DeleteLinksOfUser(ctx, nullIfEmpty(l.User))
	} else {
		err = t.q.DeleteInvitationsTo(ctx, l.Address)
	}
	if err != nil {
		return fmt.Errorf("replace link: %w", err)
	}
	if l.Teams == nil {
		l.Teams = []string{}
	}
	err = t.q.InsertLink(ctx, dbsqlc.InsertLinkParams{
		ID: string(l.ID), Kind: string(l.Kind), Hash: hash[:], UserID: nullIfEmpty(l.User),
		Address: l.Address, Role: string(l.Role), Teams: l.Teams, CreatedBy: l.CreatedBy,
		CreatedAt: l.CreatedAt, ExpiresAt: l.ExpiresAt,
	})
	if err != nil {
		return fmt.Errorf("insert link: %w", translateError(err))
	}
	return nil
}

// Take uses a link up. ok is false if no valid link exists for this address.
func (t Links) Take(
	ctx context.Context, kind controlplane.LinkKind, hash [32]byte, address string, now time.Time,
) (l controlplane.Link, ok bool, err error) {
	r, err := t.q.TakeLink(ctx, dbsqlc.TakeLinkParams{
		Hash: hash[:], Kind: string(kind), Now: now, Address: address,
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return l, false, nil
	}
	if err != nil {
		return l, false, fmt.Errorf("take link: %w", err)
	}
	return toLink(r), true, nil
}

// ListInvitations returns those that can still be used, the newest first.
func (t Links) ListInvitations(
	ctx context.Context, now time.Time,
) ([]controlplane.Link, error) {
	rows, err := t.q.ListInvitations(ctx, now)
	if err != nil {
		return nil, fmt.Errorf("list invitations: %w", err)
	}
	all := make([]controlplane.Link, len(rows))
	for i, r := range rows {
		all[i] = toLink(r)
	}
	return all, nil
}

// DeleteInvitation takes one back.
func (t Links) DeleteInvitation(ctx context.Context, id controlplane.LinkID) error {
	n, err := t.q.DeleteInvitation(ctx, string(id))
	if err != nil {
		return fmt.Errorf("delete invitation: %w", err)
	}
	if n == 0 {
		return controlplane.NewNotFoundError("invitation", string(id))
	}
	return nil
}

// DeleteOf ends the one-time links of a person.
func (t Links) DeleteOf(ctx context.Context, id controlplane.UserID) error {
	if err := t.q.DeleteLinksOfUser(ctx, nullIfEmpty(id)); err != nil {
		return fmt.Errorf("delete links: %w", err)
	}
	return nil
}

// DeleteExpired deletes up to most links that are used or expired, and returns how many.
func (t Links) DeleteExpired(ctx context.Context, now time.Time, most int) (int, error) {
	n, err := t.q.DeleteDeadLinks(ctx, now, int32(most))
	if err != nil {
		return 0, fmt.Errorf("forget links: %w", err)
	}
	return int(n), nil
}
