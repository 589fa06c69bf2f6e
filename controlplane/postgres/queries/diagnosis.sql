-- name: PutLogLevel :exec
-- A component logs at another level for a while.
INSERT INTO log_levels (node, component, level, until, set_by)
VALUES (@node, @component, @level, @until, @set_by)
ON CONFLICT (node, component) DO UPDATE SET level = excluded.level, until = excluded.until,
    set_by = excluded.set_by, set_at = now();

-- name: DeleteLogLevel :execrows
-- It logs as the settings say again.
DELETE FROM log_levels WHERE node = @node AND component = @component AND until > now();

-- name: ListLogLevels :many
-- Levels that differ from the settings now.
SELECT node, component, level, until, set_by, set_at FROM log_levels WHERE until > now()
ORDER BY node, component;

-- name: InsertSupportRequest :exec
-- Every process is asked for its part of an archive.
INSERT INTO support_requests (id) VALUES (@id);

-- name: ListSupportRequests :many
-- Archives that a process has not added its part to.
SELECT id FROM support_requests r WHERE at > now() - interval '1 minute' AND NOT EXISTS (
    SELECT FROM support_parts p WHERE p.request_id = r.id AND p.process = @process);

-- name: InsertSupportPart :exec
-- A process adds its part, unless the archive was written without it.
INSERT INTO support_parts (request_id, process, files)
SELECT @request_id::uuid, @process::text, @files::bytea
WHERE EXISTS (SELECT FROM support_requests WHERE id = @request_id::uuid)
ON CONFLICT DO NOTHING;

-- name: ListSupportParts :many
-- What the processes have added.
SELECT process, files FROM support_parts WHERE request_id = @request_id ORDER BY process;

-- name: DeleteSupportRequest :exec
-- The archive is written: its parts are gone with it, and so is what was left of earlier ones.
DELETE FROM support_requests WHERE id = @id OR at < now() - interval '1 minute';

-- name: ListLiveProcesses :many
-- The processes that have told of themselves lately.
SELECT id, role, release, started_at, seen_at, skew FROM processes
WHERE stopped_at IS NULL AND seen_at > now() - interval '45 seconds' ORDER BY role, id;

-- name: DeleteEndedLogLevels :exec
-- They are over.
DELETE FROM log_levels WHERE until <= now();
