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

func toDefinitionSource(r dbsqlc.DefinitionSource) (controlplane.DefinitionSource, error) {
	out := controlplane.DefinitionSource{ID: controlplane.DefinitionSourceID(r.ID), Name: r.Name,
		URL: r.Url, Branch: r.Branch, Folder: r.Folder, Username: r.Username, CA: r.Ca,
		Period: time.Duration(r.PeriodMinutes) * time.Minute, Mode: controlplane.SourceMode(r.Mode),
		Removes: r.Removes, Webhook: controlplane.ReviewSource(r.Webhook), Active: r.Active,
		Owner: r.Owner, OwnerID: emptyIfNull[controlplane.UserID](r.OwnerID), CreatedAt: r.CreatedAt,
		Generation: r.Generation, Status: controlplane.SourceStatus(r.Status)}
	return out, errors.Join(decodeJSON(r.Kinds, &out.Kinds), decodeJSON(r.State, &out.State))
}

func toDefinitionSources(rows []dbsqlc.DefinitionSource) (
	all []controlplane.DefinitionSource, err error) {
	all = make([]controlplane.DefinitionSource, len(rows))
	for i, r := range rows {
		if all[i], err = toDefinitionSource(r); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// List returns up to most sources after the name.
func (t DefinitionSources) List(
	ctx context.Context, after string, most int,
) ([]controlplane.DefinitionSource, error) {
	rows, err := t.q.ListDefinitionSources(ctx, after, int32(most))
	if err != nil {
		return nil, fmt.Errorf("list sources: %w", err)
	}
	return toDefinitionSources(rows)
}

// ByName loads a source; not found is a *controlplane.Error.
func (t DefinitionSources) ByName(
	ctx context.Context, name string,
) (controlplane.DefinitionSource, error) {
	r, err := t.q.GetDefinitionSource(ctx, name)
	if err != nil {
		return controlplane.DefinitionSource{}, fmt.Errorf("load source: %w",
			translateMissing(err, "source", name))
	}
	return toDefinitionSource(r)
}

// LockByName loads a source that nobody else changes until the transaction ends.
func (t DefinitionSources) LockByName(
	ctx context.Context, name string,
) (controlplane.DefinitionSource, error) {
	r, err := t.q.LockDefinitionSource(ctx, name)
	if err != nil {
		return controlplane.DefinitionSource{}, fmt.Errorf("load source: %w",
			translateMissing(err, "source", name))
	}
	return toDefinitionSource(r)
}

// Put inserts a source or replaces the settings of the one of that id.
func (t DefinitionSources) Put(ctx context.Context, s controlplane.DefinitionSource) error {
	kinds, err := encodeJSON(s.Kinds)
	if err != nil {
		return err
	}
	err = t.q.PutDefinitionSource(ctx, dbsqlc.PutDefinitionSourceParams{ID: string(s.ID),
		Name: s.Name, Url: s.URL, Branch: s.Branch, Folder: s.Folder, Username: s.Username, Ca: s.CA,
		PeriodMinutes: int32(s.Period / time.Minute), Mode: string(s.Mode), Removes: s.Removes,
		Kinds: kinds, Webhook: string(s.Webhook), Active: s.Active, Owner: s.Owner,
		OwnerID: nullIfEmpty(s.OwnerID), Generation: s.Generation})
	if err != nil {
		return fmt.Errorf("store source: %w", translateError(err))
	}
	return nil
}

// Delete removes a source; what it owned is nobody's from then on.
func (t DefinitionSources) Delete(ctx context.Context, s controlplane.DefinitionSource) error {
	err := t.q.DeleteDefinitionSource(ctx, string(s.ID))
	if err == nil {
		err = t.q.ForgetOwnedDefinitions(ctx, s.Name)
	}
	if err != nil {
		return fmt.Errorf("delete source: %w", translateError(err))
	}
	return nil
}

// Wake has an active source looked at now.
func (t DefinitionSources) Wake(ctx context.Context, id controlplane.DefinitionSourceID) error {
	if _, err := t.q.WakeDefinitionSource(ctx, string(id)); err != nil {
		return fmt.Errorf("wake source: %w", translateError(err))
	}
	return nil
}

// ClaimDue takes sources that are due for as long as a look may last.
func (t DefinitionSources) ClaimDue(
	ctx context.Context, hold time.Duration, most int,
) ([]controlplane.DefinitionSource, error) {
	rows, err := t.q.ClaimDefinitionSources(ctx, hold.Seconds(), int32(most))
	if err != nil {
		return nil, fmt.Errorf("claim sources: %w", err)
	}
	return toDefinitionSources(rows)
}

// Claim takes one source; false if somebody else has it.
func (t DefinitionSources) Claim(
	ctx context.Context, id controlplane.DefinitionSourceID, hold time.Duration,
) (s controlplane.DefinitionSource, claimed bool, err error) {
	r, err := t.q.ClaimDefinitionSource(ctx, hold.Seconds(), string(id))
	if errors.Is(err, pgx.ErrNoRows) {
		return s, false, nil
	}
	if err != nil {
		return s, false, fmt.Errorf("claim source: %w", err)
	}
	s, err = toDefinitionSource(r)
	return s, true, err
}

// Save stores what a look that began then found, and ends its claim.
func (t DefinitionSources) Save(
	ctx context.Context, s controlplane.DefinitionSource, began, due time.Time,
) error {
	state, err := encodeJSON(s.State)
	if err != nil {
		return err
	}
	err = t.q.SaveDefinitionSource(ctx, dbsqlc.SaveDefinitionSourceParams{ID: string(s.ID),
		Status: string(s.Status), State: state, Began: began, DueAt: due})
	if err != nil {
		return fmt.Errorf("save source: %w", translateError(err))
	}
	return nil
}

// PutFiles keeps the files of a commit.
func (t DefinitionSources) PutFiles(ctx context.Context, id controlplane.DefinitionSourceID,
	commit string, files []controlplane.SourceFile) error {
	text, err := encodeJSON(files)
	if err == nil {
		err = t.q.PutDefinitionSourceFiles(ctx, string(id), commit, text)
	}
	if err != nil {
		return fmt.Errorf("store files of source: %w", translateError(err))
	}
	return nil
}

// Files returns the files of a commit; not found is a *controlplane.Error.
func (t DefinitionSources) Files(ctx context.Context, id controlplane.DefinitionSourceID,
	commit string) (files []controlplane.SourceFile, err error) {
	text, err := t.q.GetDefinitionSourceFiles(ctx, string(id), commit)
	if err != nil {
		return nil, fmt.Errorf("load files of source: %w", translateMissing(err, "commit", commit))
	}
	return files, decodeJSON(text, &files)
}

// KeepFiles forgets the files of all other commits.
func (t DefinitionSources) KeepFiles(
	ctx context.Context, id controlplane.DefinitionSourceID, commits ...string,
) error {
	if err := t.q.KeepDefinitionSourceFiles(ctx, string(id), commits); err != nil {
		return fmt.Errorf("forget files of source: %w", translateError(err))
	}
	return nil
}
