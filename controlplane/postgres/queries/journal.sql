-- name: Notify :exec
-- Wakes listeners at commit; equal payloads of one transaction become one.
SELECT pg_notify('nullops', @payload::text);

-- name: InsertAudit :exec
-- The only way to write the audit journal, which the database never lets
-- anybody change.
INSERT INTO audit (actor, actor_id, action, object, project_id, environment_id,
    origin, request_id, result, detail)
VALUES (@actor, sqlc.narg(actor_id), @action, @object, sqlc.narg(project_id),
    sqlc.narg(environment_id), @origin, @request_id, @result, @detail);

-- name: ListAudit :many
-- The journal, newest first.
SELECT * FROM audit WHERE id < @before ORDER BY id DESC LIMIT @most;

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
-- Keys count for a day.
DELETE FROM idempotency_keys WHERE created_at < @before;
