-- name: NoteRequest :exec
-- Says for the rest of the transaction which request and which trace it is, see
-- current_request() and current_trace().
SELECT set_config('nullops.request', @request::text, true),
    set_config('nullops.trace', @trace::text, true);

-- name: MoveAuditHead :one
-- Takes the chain's end until commit, so that links follow the order of commits.
UPDATE audit_head SET seq = seq + 1 RETURNING seq, mac, clock_timestamp()::timestamptz AS at;

-- name: PutAuditHead :exec
-- Notes the link of the entry that is now the last.
UPDATE audit_head SET mac = @mac;

-- name: GetAuditHead :one
-- The chain's end, to compare the last entry with.
SELECT seq, mac FROM audit_head;

-- name: ListAuditLinks :many
-- Some links by their place, to compare with what witnesses remember.
SELECT seq, mac FROM audit WHERE seq = ANY (@seqs::bigint[]);

-- name: GetAuditKey :one
-- The sealed key of the chain; null before the first start.
SELECT sealed_key FROM audit_head FOR UPDATE;

-- name: PutAuditKey :exec
-- Keeps the key that the first start made.
UPDATE audit_head SET sealed_key = @sealed_key;

-- name: InsertAudit :exec
-- The only way to write the audit journal, which the database never lets
-- anybody change.
INSERT INTO audit (seq, at, mac, actor, actor_id, action, object, project_id, environment_id,
    origin, request_id, result, detail, credential)
VALUES (@seq, @at, @mac, @actor, sqlc.narg(actor_id), @action, @object, sqlc.narg(project_id),
    sqlc.narg(environment_id), @origin, @request_id, @result, @detail, @credential);

-- name: ListAudit :many
-- The journal, newest first, as far as the asker may see: everything, or what
-- was done to a project or an environment of theirs, or by themselves. A
-- restricted environment needs a grant of its own.
SELECT a.* FROM audit a LEFT JOIN environments e ON e.id = a.environment_id
WHERE (sqlc.narg(before)::bigint IS NULL OR a.id < sqlc.narg(before))
    AND (@everything::bool OR a.actor_id = sqlc.narg(own)::uuid
        OR a.environment_id = ANY (@environments::uuid[])
        OR a.project_id = ANY (@projects::uuid[]) AND NOT coalesce(e.restricted, false))
    AND (sqlc.narg(actor)::text IS NULL OR a.actor = sqlc.narg(actor))
    AND (sqlc.narg(action)::text IS NULL OR starts_with(a.action, sqlc.narg(action)))
    AND (sqlc.narg(object)::text IS NULL OR strpos(lower(a.object), lower(sqlc.narg(object))) > 0)
    AND (sqlc.narg(result)::text IS NULL OR a.result = sqlc.narg(result))
    AND (sqlc.narg(since)::timestamptz IS NULL OR a.at >= sqlc.narg(since))
    AND (sqlc.narg(until)::timestamptz IS NULL OR a.at < sqlc.narg(until))
ORDER BY a.id DESC LIMIT @most;

-- name: ListAuditForwards :many
-- The same, oldest first. One query for both orders would sort the whole journal.
SELECT a.* FROM audit a LEFT JOIN environments e ON e.id = a.environment_id
WHERE (sqlc.narg(before)::bigint IS NULL OR a.id > sqlc.narg(before))
    AND (@everything::bool OR a.actor_id = sqlc.narg(own)::uuid
        OR a.environment_id = ANY (@environments::uuid[])
        OR a.project_id = ANY (@projects::uuid[]) AND NOT coalesce(e.restricted, false))
    AND (sqlc.narg(actor)::text IS NULL OR a.actor = sqlc.narg(actor))
    AND (sqlc.narg(action)::text IS NULL OR starts_with(a.action, sqlc.narg(action)))
    AND (sqlc.narg(object)::text IS NULL OR strpos(lower(a.object), lower(sqlc.narg(object))) > 0)
    AND (sqlc.narg(result)::text IS NULL OR a.result = sqlc.narg(result))
    AND (sqlc.narg(since)::timestamptz IS NULL OR a.at >= sqlc.narg(since))
    AND (sqlc.narg(until)::timestamptz IS NULL OR a.at < sqlc.narg(until))
ORDER BY a.id LIMIT @most;

-- name: ListAuditChain :many
-- The chain in its order, for verification.
SELECT * FROM audit WHERE seq > @after ORDER BY seq LIMIT @most;

-- name: ListAuditCheckpoints :many
-- Where retention cut, oldest first.
SELECT * FROM audit_checkpoints ORDER BY seq;

-- name: GetAuditBefore :one
-- The last entry that is older than the time: where a cut would be.
SELECT * FROM audit WHERE seq IS NOT NULL AND at < @before ORDER BY seq DESC LIMIT 1;

-- name: InsertAuditCheckpoint :exec
-- Makes the deletion of everything up to it legal.
INSERT INTO audit_checkpoints (seq, link, at, mac) VALUES (@seq, @link, @at, @mac);

-- name: DeleteAuditTo :execrows
-- Deletes what a checkpoint stands for.
DELETE FROM audit WHERE seq <= @seq OR seq IS NULL AND at < @before;
