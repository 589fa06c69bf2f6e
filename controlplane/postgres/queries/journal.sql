-- name: Notify :exec
-- Wakes listeners at commit; equal payloads of one transaction become one.
SELECT pg_notify('nullops', p) FROM unnest(@payloads::text[]) p;

-- name: GetIdempotencyKey :one
-- What the same create made before, and the hash of what it asked for.
SELECT request, coalesce(object_id::text, '')::text AS object_id FROM idempotency_keys
WHERE user_id = @user_id AND operation = @operation AND key = @key
    AND created_at > now() - interval '24 hours';

-- name: PutIdempotencyKey :exec
-- Remembers what a create made; a key older than a day is free again.
INSERT INTO idempotency_keys (user_id, operation, key, request, object_id)
VALUES (@user_id, @operation, @key, @request, @object_id::uuid)
ON CONFLICT (user_id, operation, key) DO UPDATE
SET request = excluded.request, object_id = excluded.object_id, created_at = now(),
    claim = NULL, status = NULL, answer = NULL
WHERE idempotency_keys.created_at <= now() - interval '24 hours';

-- name: ClaimIdempotencyKey :execrows
-- Takes a key for a request under way; a key older than a day is free again, and
-- so is one whose request nobody held on to for a minute.
INSERT INTO idempotency_keys (user_id, operation, key, request, claim)
VALUES (@user_id, @operation, @key, @request, @claim::uuid)
ON CONFLICT (user_id, operation, key) DO UPDATE
SET request = excluded.request, claim = excluded.claim, object_id = NULL,
    created_at = now(), status = NULL, answer = NULL
WHERE idempotency_keys.created_at <= now() - interval '24 hours'
    OR (idempotency_keys.object_id IS NULL AND idempotency_keys.status IS NULL
        AND idempotency_keys.created_at <= now() - interval '1 minute');

-- name: HoldIdempotencyKey :execrows
-- Says that a request is still under way.
UPDATE idempotency_keys SET created_at = now()
WHERE user_id = @user_id AND operation = @operation AND key = @key
    AND claim = @claim::uuid AND status IS NULL;

-- name: GetIdempotentAnswer :one
-- How a request with the key was answered; without a status it was not.
SELECT request, status, answer FROM idempotency_keys
WHERE user_id = @user_id AND operation = @operation AND key = @key;

-- name: KeepIdempotentAnswer :exec
-- Keeps how a request was answered.
UPDATE idempotency_keys SET status = @status, answer = @answer
WHERE user_id = @user_id AND operation = @operation AND key = @key
    AND claim = @claim::uuid AND status IS NULL;

-- name: DropIdempotencyKey :exec
-- A request that was refused has used no key.
DELETE FROM idempotency_keys
WHERE user_id = @user_id AND operation = @operation AND key = @key
    AND claim = @claim::uuid AND status IS NULL;

-- name: DeleteIdempotencyKeysBefore :execrows
-- Keys count for a day. Some at a time: nobody waits long for the rows.
DELETE FROM idempotency_keys WHERE (user_id, operation, key) IN (
    SELECT k.user_id, k.operation, k.key FROM idempotency_keys k
    WHERE k.created_at < @before LIMIT @most);
