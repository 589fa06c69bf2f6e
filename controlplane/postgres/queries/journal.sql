-- name: Notify :exec
-- Wakes listeners at commit; equal payloads of one transaction become one.
SELECT pg_notify('nullops', @payload::text);

-- name: GetIdempotencyKey :one
-- What the same create made before, and the hash of what it asked for.
SELECT request, object_id FROM idempotency_keys
WHERE user_id = @user_id AND operation = @operation AND key = @key
    AND created_at > now() - interval '24 hours';

-- name: PutIdempotencyKey :exec
-- Remembers what a create made; a key older than a day is free again.
INSERT INTO idempotency_keys (user_id, operation, key, request, object_id)
VALUES (@user_id, @operation, @key, @request, @object_id)
ON CONFLICT (user_id, operation, key) DO UPDATE
SET request = excluded.request, object_id = excluded.object_id, created_at = now()
WHERE idempotency_keys.created_at <= now() - interval '24 hours';

-- name: DeleteIdempotencyKeysBefore :execrows
-- Keys count for a day. Some at a time: nobody waits long for the rows.
DELETE FROM idempotency_keys WHERE (user_id, operation, key) IN (
    SELECT k.user_id, k.operation, k.key FROM idempotency_keys k
    WHERE k.created_at < @before LIMIT @most);
