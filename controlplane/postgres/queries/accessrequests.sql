-- name: InsertAccessRequest :execrows
-- Asking twice is asking once.
INSERT INTO access_requests (id, user_id, object, note) VALUES (@id, @user_id, @object, @note)
ON CONFLICT (user_id, object) WHERE closed_at IS NULL DO NOTHING;

-- name: GetOpenAccessRequest :one
-- What a person asked for and waits for.
SELECT sqlc.embed(r), u.name FROM access_requests r JOIN users u ON u.id = r.user_id
WHERE r.user_id = @user_id AND r.object = @object AND r.closed_at IS NULL;

-- name: ListAccessRequests :many
-- Those that wait, of one person or of all, the newest first.
SELECT sqlc.embed(r), u.name FROM access_requests r JOIN users u ON u.id = r.user_id
WHERE r.closed_at IS NULL AND (sqlc.narg(user_id)::uuid IS NULL OR r.user_id = sqlc.narg(user_id))
ORDER BY r.id DESC LIMIT @most;

-- name: CountAccessRequests :one
-- How many a person made lately.
SELECT count(*) FROM access_requests WHERE user_id = @user_id AND at > @since;

-- name: CloseAccessRequest :one
-- Once: of two admins one closes it.
UPDATE access_requests r SET closed_at = now(), closed_by = @closed_by FROM users u
WHERE r.id = @id AND r.closed_at IS NULL AND u.id = r.user_id RETURNING sqlc.embed(r), u.name;

-- name: DeleteOldAccessRequests :execrows
-- Those that were closed long ago, a bounded number.
DELETE FROM access_requests WHERE id IN (
    SELECT r.id FROM access_requests r WHERE r.closed_at < @before LIMIT @most);
