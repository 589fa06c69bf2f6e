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

// GetAccount loads our account at a directory, bound by the key if there is an
// id of one; ok is false without an account.
func (t ACME) GetAccount(
	ctx context.Context, directory, email, eabKeyID string,
) (a controlplane.ACMEAccount, ok bool, err error) {
	r, err := t.q.GetACMEAccount(ctx, directory, email, eabKeyID)
	if errors.Is(err, pgx.ErrNoRows) {
		return a, false, nil
	}
	if err != nil {
		return a, false, fmt.Errorf("load ACME account: %w", err)
	}
	return controlplane.ACMEAccount{ID: r.ID, Directory: r.Directory, Email: r.Email,
		EABKeyID: r.EabKeyID, Location: r.Location, Key: r.Key}, true, nil
}

// InsertAccount stores one, unless another replica was faster.
func (t ACME) InsertAccount(ctx context.Context, a controlplane.ACMEAccount) error {
	if err := t.q.InsertACMEAccount(ctx, dbsqlc.InsertACMEAccountParams{ID: a.ID,
		Directory: a.Directory, Email: a.Email, Location: a.Location, Key: a.Key,
		EabKeyID: a.EABKeyID}); err != nil {
		return fmt.Errorf("store ACME account: %w", translateError(err))
	}
	return nil
}

// DeleteAccount deletes an account that the authority does not know.
func (t ACME) DeleteAccount(ctx context.Context, id string) error {
	if err := t.q.DeleteACMEAccount(ctx, id); err != nil {
		return fmt.Errorf("delete ACME account: %w", err)
	}
	return nil
}

// PutChallenge stores what the ingress is to answer.
func (t ACME) PutChallenge(
	ctx context.Context, host, token, answer string, now time.Time,
) error {
	if err := t.q.PutACMEChallenge(ctx, dbsqlc.PutACMEChallengeParams{Host: host, Token: token,
		Answer: answer, Now: now}); err != nil {
		return fmt.Errorf("store challenge of %s: %w", host, translateError(err))
	}
	return nil
}

// GetChallenge returns the answer to a challenge; ok is false for a token that was
// not requested.
func (t ACME) GetChallenge(
	ctx context.Context, host, token string,
) (answer string, ok bool, err error) {
	answer, err = t.q.GetACMEChallenge(ctx, host, token)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("load challenge of %s: %w", host, err)
	}
	return answer, true, nil
}

// DeleteChallenges forgets one, and any from before the time given.
func (t ACME) DeleteChallenges(
	ctx context.Context, host, token string, before time.Time,
) error {
	if err := t.q.DeleteACMEChallenges(ctx, host, token, before); err != nil {
		return fmt.Errorf("delete challenge of %s: %w", host, err)
	}
	return nil
}
