package postgres

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
)

// Factors is the handle for second factors, recovery codes and what authenticators are asked.
type Factors struct{ subject }

// Factors returns the handle in this transaction.
func (t *Tx) Factors() Factors { return Factors{t.subject()} }

func toFactor(r dbsqlc.SecondFactor) controlplane.Factor {
	return controlplane.Factor{
		ID: controlplane.FactorID(r.ID), User: controlplane.UserID(r.UserID),
		Kind: controlplane.FactorKind(r.Kind), Name: r.Name, Confirmed: r.Confirmed, Seed: r.Seed,
		CredentialID: emptyIfNull[string](r.CredentialID), Passkey: r.Passkey,
		CreatedAt: r.CreatedAt, LastUsedAt: r.LastUsedAt,
	}
}

// Insert stores a factor.
func (t Factors) Insert(ctx context.Context, f controlplane.Factor) error {
	err := t.q.InsertFactor(ctx, dbsqlc.InsertFactorParams{
		ID: string(f.ID), UserID: string(f.User), Kind: string(f.Kind), Name: f.Name,
		Confirmed: f.Confirmed, Seed: f.Seed, CredentialID: nullIfEmpty(f.CredentialID),
		Passkey: f.Passkey, CreatedAt: f.CreatedAt,
	})
	if err != nil {
		return fmt.Errorf("insert second factor: %w", translateError(err))
	}
	return nil
}

// List returns a person's factors, oldest first, with those that are not confirmed yet.
func (t Factors) List(
	ctx context.Context, user controlplane.UserID,
) ([]controlplane.Factor, error) {
	rows, err := t.q.ListFactors(ctx, string(user))
	if err != nil {
		return nil, fmt.Errorf("list second factors: %w", err)
	}
	all := make([]controlplane.Factor, len(rows))
	for i, r := range rows {
		all[i] = toFactor(r)
	}
	return all, nil
}

// ByCredential finds the passkey with this id. ok is false when there is none.
func (t Factors) ByCredential(
	ctx context.Context, credential string,
) (f controlplane.Factor, ok bool, err error) {
	r, err := t.q.GetPasskey(ctx, &credential)
	if errors.Is(err, pgx.ErrNoRows) {
		return f, false, nil
	}
	if err != nil {
		return f, false, fmt.Errorf("load passkey: %w", err)
	}
	return toFactor(r), true, nil
}

// UsePasskey stores the record of a passkey that was just used.
func (t Factors) UsePasskey(
	ctx context.Context, id controlplane.FactorID, passkey []byte, at time.Time,
) error {
	if err := t.q.UsePasskey(ctx, passkey, &at, string(id)); err != nil {
		return fmt.Errorf("store the use of a passkey: %w", err)
	}
	return nil
}

// UseCode uses up the code of a time step, and confirms the app. It is false if that code, or a
// later one, was used before.
func (t Factors) UseCode(
	ctx context.Context, id controlplane.FactorID, step int64, at time.Time,
) (bool, error) {
	n, err := t.q.UseCode(ctx, step, &at, string(id))
	if err != nil {
		return false, fmt.Errorf("use a code up: %w", err)
	}
	return n == 1, nil
}

// Delete removes a person's own factor.
func (t Factors) Delete(
	ctx context.Context, user controlplane.UserID, id controlplane.FactorID,
) error {
	n, err := t.q.DeleteFactor(ctx, string(id), string(user))
	if err != nil {
		return fmt.Errorf("delete second factor: %w", err)
	}
	if n == 0 {
		return controlplane.NewNotFoundError("second factor", string(id))
	}
	return nil
}

// DeleteOf removes all factors and recovery codes of a person, and says how many factors there
// were.
func (t Factors) DeleteOf(ctx context.Context, user controlplane.UserID) (int, error) {
	n, err := t.q.DeleteFactorsOfUser(ctx, string(user))
	if err != nil {
		return 0, fmt.Errorf("delete second factors: %w", err)
	}
	return int(n), t.DeleteRecoveryCodes(ctx, user)
}

// DeleteUnconfirmed removes authenticator apps that were begun before the given time and never
// confirmed: one person's, or everybody's when the id is empty.
func (t Factors) DeleteUnconfirmed(
	ctx context.Context, user controlplane.UserID, before time.Time,
) error {
	if _, err := t.q.DeleteUnconfirmedFactors(ctx, before, nullIfEmpty(user)); err != nil {
		return fmt.Errorf("delete unconfirmed factors: %w", err)
	}
	return nil
}

// Need says whether a person has a second factor, and whether a team requires one.
func (t Factors) Need(
	ctx context.Context, user controlplane.UserID,
) (controlplane.FactorNeed, error) {
	r, err := t.q.GetFactorNeed(ctx, string(user))
	if err != nil {
		return controlplane.FactorNeed{}, fmt.Errorf("look up second factors: %w", err)
	}
	return controlplane.FactorNeed{Has: r.HasFactor, TeamWants: r.TeamWants}, nil
}

// ReplaceRecoveryCodes stores the hashes of new codes in place of all earlier ones.
func (t Factors) ReplaceRecoveryCodes(
	ctx context.Context, user controlplane.UserID, hashes [][32]byte,
) error {
	if err := t.DeleteRecoveryCodes(ctx, user); err != nil {
		return err
	}
	texts := make([]string, len(hashes))
	for i, hash := range hashes {
		texts[i] = hex.EncodeToString(hash[:])
	}
	if err := t.q.InsertRecoveryCodes(ctx, string(user), texts); err != nil {
		return fmt.Errorf("store recovery codes: %w", translateError(err))
	}
	return nil
}

// DeleteRecoveryCodes removes all codes of a person.
func (t Factors) DeleteRecoveryCodes(ctx context.Context, user controlplane.UserID) error {
	if err := t.q.DeleteRecoveryCodes(ctx, string(user)); err != nil {
		return fmt.Errorf("delete recovery codes: %w", err)
	}
	return nil
}

// CountRecoveryCodes says how many codes a person has left.
func (t Factors) CountRecoveryCodes(
	ctx context.Context, user controlplane.UserID,
) (int, error) {
	n, err := t.q.CountRecoveryCodes(ctx, string(user))
	if err != nil {
		return 0, fmt.Errorf("count recovery codes: %w", err)
	}
	return int(n), nil
}

// UseRecoveryCode uses a code up; false is for one that a person does not have.
func (t Factors) UseRecoveryCode(
	ctx context.Context, user controlplane.UserID, hash [32]byte,
) (bool, error) {
	n, err := t.q.UseRecoveryCode(ctx, string(user), hex.EncodeToString(hash[:]))
	if err != nil {
		return false, fmt.Errorf("use a recovery code up: %w", err)
	}
	return n == 1, nil
}

// InsertChallenge stores what an authenticator is asked, under the hash of its ticket.
func (t Factors) InsertChallenge(ctx context.Context, hash [32]byte, purpose string,
	user controlplane.UserID, ceremony []byte, expires time.Time) error {
	err := t.q.InsertChallenge(ctx, dbsqlc.InsertChallengeParams{
		Hash: hex.EncodeToString(hash[:]), Purpose: purpose, UserID: nullIfEmpty(user),
		Ceremony: ceremony, ExpiresAt: expires,
	})
	if err != nil {
		return fmt.Errorf("store a challenge: %w", translateError(err))
	}
	return nil
}

// TakeChallenge uses a challenge up. ok is false if there is none for this purpose and person.
func (t Factors) TakeChallenge(ctx context.Context, hash [32]byte, purpose string,
	user controlplane.UserID, now time.Time) (ceremony []byte, ok bool, err error) {
	ceremony, err = t.q.TakeChallenge(ctx, dbsqlc.TakeChallengeParams{
		Hash: hex.EncodeToString(hash[:]), Purpose: purpose, UserID: nullIfEmpty(user), Now: now,
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("take a challenge: %w", err)
	}
	return ceremony, true, nil
}

// DeleteOldChallenges deletes at most so many that nobody answered in time.
func (t Factors) DeleteOldChallenges(
	ctx context.Context, now time.Time, most int,
) (int, error) {
	n, err := t.q.DeleteOldChallenges(ctx, now, int32(most))
	if err != nil {
		return 0, fmt.Errorf("forget challenges: %w", err)
	}
	return int(n), nil
}

// Confirm notes that a session's owner has just proved again who they are.
func (t Sessions) Confirm(
	ctx context.Context, id controlplane.SessionID, at time.Time,
) error {
	if err := t.q.ConfirmSession(ctx, at, string(id)); err != nil {
		return fmt.Errorf("confirm session: %w", err)
	}
	return nil
}
