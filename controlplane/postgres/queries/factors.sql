-- name: InsertFactor :exec
-- A passkey, or an authenticator app that has yet to show a code.
INSERT INTO second_factors (id, user_id, kind, name, confirmed, seed, credential_id, passkey,
    created_at)
VALUES (@id, @user_id, @kind, @name, @confirmed, sqlc.narg(seed), sqlc.narg(credential_id),
    sqlc.narg(passkey), @created_at);

-- name: ListFactors :many
-- A person's factors, oldest first, with those that are not confirmed yet.
SELECT * FROM second_factors WHERE user_id = @user_id ORDER BY created_at, id;

-- name: GetPasskey :one
-- The passkey that an authenticator answers with.
SELECT * FROM second_factors WHERE credential_id = @credential_id;

-- name: UsePasskey :exec
-- What its authenticator counts, and when it was used.
UPDATE second_factors SET passkey = @passkey, last_used_at = @at WHERE id = @id;

-- name: UseCode :execrows
-- Uses a code up: neither it nor an earlier one is good again. The first one confirms the app.
UPDATE second_factors SET last_step = @step, last_used_at = @at, confirmed = true
WHERE id = @id AND last_step < @step;

-- name: DeleteFactor :execrows
-- Only the owner's own.
DELETE FROM second_factors WHERE id = @id AND user_id = @user_id;

-- name: DeleteFactorsOfUser :execrows
-- An admin helps somebody who has lost theirs.
DELETE FROM second_factors WHERE user_id = @user_id;

-- name: DeleteUnconfirmedFactors :execrows
-- Authenticator apps that were begun and never confirmed: one person's, or all old ones.
DELETE FROM second_factors WHERE NOT confirmed AND created_at < @before
    AND (user_id = sqlc.narg(user_id)::uuid OR sqlc.narg(user_id)::uuid IS NULL);

-- name: InsertRecoveryCodes :exec
-- Codes as their hashes.
INSERT INTO recovery_codes (user_id, hash) SELECT @user_id, unnest(@hashes::text[]);

-- name: CountRecoveryCodes :one
-- How many are left.
SELECT count(*) FROM recovery_codes WHERE user_id = @user_id;

-- name: UseRecoveryCode :execrows
-- Each is good once.
DELETE FROM recovery_codes WHERE user_id = @user_id AND hash = @hash;

-- name: DeleteRecoveryCodes :exec
-- Before new ones, and when the last factor goes.
DELETE FROM recovery_codes WHERE user_id = @user_id;

-- name: InsertChallenge :exec
-- What an authenticator is asked to sign.
INSERT INTO passkey_challenges (hash, purpose, user_id, ceremony, expires_at)
VALUES (@hash, @purpose, sqlc.narg(user_id), @ceremony, @expires_at);

-- name: TakeChallenge :one
-- Uses a challenge up, whatever comes of the answer.
DELETE FROM passkey_challenges WHERE hash = @hash AND purpose = @purpose
    AND user_id IS NOT DISTINCT FROM sqlc.narg(user_id)::uuid AND expires_at > @now
RETURNING ceremony;

-- name: DeleteOldChallenges :execrows
-- Challenges that nobody answered, some at a time.
DELETE FROM passkey_challenges WHERE hash IN (SELECT c.hash FROM passkey_challenges c
    WHERE c.expires_at <= @now LIMIT @most);

-- name: ConfirmSession :exec
-- The owner of the session has just proved again who they are.
UPDATE sessions SET confirmed_at = @at WHERE id = @id;

-- name: GetFactorNeed :one
-- Whether a person has a second factor, and whether a team of theirs wants one.
SELECT EXISTS (SELECT FROM second_factors f WHERE f.user_id = @user_id AND f.confirmed)::boolean
    AS has_factor,
    EXISTS (SELECT FROM memberships m JOIN teams t ON t.id = m.team_id
    WHERE m.user_id = @user_id AND t.second_factor)::boolean AS team_wants;
