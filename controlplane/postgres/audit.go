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

// ChainAudit sets the key that links audit entries. Without it no entry can be
// written, so that every audited change fails.
func (s *Store) ChainAudit(k controlplane.AuditKey) { s.auditKey = &k }

// Insert adds an entry to the journal of deeds and links it to the one
// before. Writers queue here until the other's commit, so it comes last in its
// transaction.
func (t Audit) Insert(ctx context.Context, e controlplane.AuditEntry) error {
	if t.tx.auditKey == nil {
		return errors.New("audit: no key was given, see Store.ChainAudit")
	}
	head, err := t.q.MoveAuditHead(ctx)
	if err != nil {
		return fmt.Errorf("audit %s of %s: take the chain's end: %w", e.Action, e.Object, err)
	}
	e.Seq, e.At = head.Seq, head.At
	// Before the link is made: the chain covers what is stored.
	for _, text := range []*string{&e.Actor, &e.Action, &e.Object, &e.From, &e.Detail,
		&e.Credential} {
		*text = escapeUnstorable(*text)
	}
	e.Link = t.tx.auditKey.LinkEntry(controlplane.AuditLink(head.Mac), e)
	err = t.q.InsertAudit(ctx, dbsqlc.InsertAuditParams{
		Seq: &e.Seq, At: e.At, Mac: e.Link[:],
		Actor: e.Actor, ActorID: nullIfEmpty(e.ActorID), Action: e.Action, Object: e.Object,
		ProjectID: nullIfEmpty(e.Project), EnvironmentID: nullIfEmpty(e.Environment),
		Origin: e.From, RequestID: e.RequestID, Result: string(e.Result), Detail: e.Detail,
		Credential: e.Credential,
	})
	if err == nil {
		err = t.q.PutAuditHead(ctx, e.Link[:])
	}
	if err != nil {
		return fmt.Errorf("audit %s of %s: %w", e.Action, e.Object, err)
	}
	return nil
}

// AuditFilter chooses entries; empty fields choose all. Everything, Own,
// Projects and Environments say what the asker may see.
type AuditFilter struct {
	Everything   bool
	Own          controlplane.UserID
	Projects     []controlplane.ProjectID
	Environments []controlplane.EnvironmentID

	// Action is how it begins, Object a part of it.
	Actor, Action, Object string
	Result                controlplane.AuditResult
	Since, Until          time.Time
	// Before is the ID of the entry that the page comes after; zero for none.
	Before int64
	Most   int
	// Forwards begins with the oldest.
	Forwards bool
}

// List returns entries, newest first unless the filter says otherwise.
func (t Audit) List(
	ctx context.Context, f AuditFilter,
) ([]controlplane.AuditEntry, error) {
	p := dbsqlc.ListAuditParams{
		Everything: f.Everything, Own: nullIfEmpty(f.Own), Projects: toStrings(f.Projects),
		Environments: toStrings(f.Environments), Before: nullableCursor(f.Before),
		Actor: nullIfEmpty(f.Actor), Action: nullIfEmpty(f.Action), Object: nullIfEmpty(f.Object),
		Result: nullIfEmpty(f.Result), Since: nullIfZero(f.Since), Until: nullIfZero(f.Until),
		Most: int32(f.Most),
	}
	var rows []dbsqlc.Audit
	var err error
	if f.Forwards {
		rows, err = t.q.ListAuditForwards(ctx, dbsqlc.ListAuditForwardsParams(p))
	} else {
		rows, err = t.q.ListAudit(ctx, p)
	}
	if err != nil {
		return nil, fmt.Errorf("list audit: %w", err)
	}
	return toAuditEntries(rows), nil
}

// ListChain returns the links after the number, in order.
func (t Audit) ListChain(
	ctx context.Context, after int64, most int,
) ([]controlplane.AuditEntry, error) {
	rows, err := t.q.ListAuditChain(ctx, &after, int32(most))
	if err != nil {
		return nil, fmt.Errorf("read audit chain: %w", err)
	}
	return toAuditEntries(rows), nil
}

// GetHead returns number and link of the chain's head, which must match the last
// entry.
func (t Audit) GetHead(ctx context.Context) (int64, controlplane.AuditLink, error) {
	head, err := t.q.GetAuditHead(ctx)
	if err != nil {
		return 0, controlplane.AuditLink{}, fmt.Errorf("read the end of the audit: %w", err)
	}
	return head.Seq, controlplane.AuditLink(head.Mac), nil
}

// ListLinks returns the links of those entries that exist, by number.
func (t Audit) ListLinks(
	ctx context.Context, seqs []int64,
) (map[int64]controlplane.AuditLink, error) {
	rows, err := t.q.ListAuditLinks(ctx, seqs)
	if err != nil {
		return nil, fmt.Errorf("read audit links: %w", err)
	}
	all := map[int64]controlplane.AuditLink{}
	for _, r := range rows {
		all[*r.Seq] = controlplane.AuditLink(r.Mac)
	}
	return all, nil
}

// ListCheckpoints lists where retention cut, oldest first.
func (t Audit) ListCheckpoints(ctx context.Context) ([]controlplane.AuditCheckpoint, error) {
	rows, err := t.q.ListAuditCheckpoints(ctx)
	if err != nil {
		return nil, fmt.Errorf("list audit checkpoints: %w", err)
	}
	all := make([]controlplane.AuditCheckpoint, len(rows))
	for i, r := range rows {
		all[i] = controlplane.AuditCheckpoint{Seq: r.Seq, Link: controlplane.AuditLink(r.Link),
			At: r.At, Seal: controlplane.AuditLink(r.Mac)}
	}
	return all, nil
}

// GetLastBefore returns the last link before a time; ok is false if there is none.
func (t Audit) GetLastBefore(
	ctx context.Context, before time.Time,
) (e controlplane.AuditEntry, ok bool, err error) {
	row, err := t.q.GetAuditBefore(ctx, before)
	if errors.Is(err, pgx.ErrNoRows) {
		return e, false, nil
	}
	if err != nil {
		return e, false, fmt.Errorf("find where to cut the audit: %w", err)
	}
	return toAuditEntries([]dbsqlc.Audit{row})[0], true, nil
}

// Cut deletes the entries up to the checkpoint, and returns how many there were.
func (t Audit) Cut(ctx context.Context, c controlplane.AuditCheckpoint) (int64, error) {
	err := t.q.InsertAuditCheckpoint(ctx, dbsqlc.InsertAuditCheckpointParams{
		Seq: c.Seq, Link: c.Link[:], At: c.At, Mac: c.Seal[:]})
	if err != nil {
		return 0, fmt.Errorf("put audit checkpoint: %w", err)
	}
	n, err := t.q.DeleteAuditTo(ctx, &c.Seq, c.At)
	if err != nil {
		return 0, fmt.Errorf("cut audit: %w", err)
	}
	return n, nil
}

// LockKey returns the chain's sealed key, empty before the first start. The row stays
// locked until the transaction ends.
func (t Audit) LockKey(ctx context.Context) (controlplane.Sealed, error) {
	sealed, err := t.q.GetAuditKey(ctx)
	if err != nil {
		return nil, fmt.Errorf("read audit key: %w", err)
	}
	return sealed, nil
}

// PutKey stores the chain's sealed key.
func (t Audit) PutKey(ctx context.Context, sealed controlplane.Sealed) error {
	if err := t.q.PutAuditKey(ctx, sealed); err != nil {
		return fmt.Errorf("put audit key: %w", err)
	}
	return nil
}

func toAuditEntries(rows []dbsqlc.Audit) []controlplane.AuditEntry {
	all := make([]controlplane.AuditEntry, len(rows))
	for i, r := range rows {
		all[i] = controlplane.AuditEntry{
			ID: r.ID, At: r.At, Actor: r.Actor, Action: r.Action, Object: r.Object,
			ActorID:     emptyIfNull[controlplane.UserID](r.ActorID),
			Project:     emptyIfNull[controlplane.ProjectID](r.ProjectID),
			Environment: emptyIfNull[controlplane.EnvironmentID](r.EnvironmentID),
			From:        r.Origin, RequestID: r.RequestID, Credential: r.Credential,
			Result: controlplane.AuditResult(r.Result), Detail: r.Detail,
		}
		if r.Seq != nil {
			all[i].Seq, all[i].Link = *r.Seq, controlplane.AuditLink(r.Mac)
		}
	}
	return all
}

// nullableCursor turns the ID a page comes after into a nullable column.
func nullableCursor(before int64) *int64 {
	if before == 0 {
		return nil
	}
	return &before
}
