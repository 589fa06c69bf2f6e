-- name: InsertPersonNotice :exec
-- Something that concerns one person.
INSERT INTO person_notices (id, user_id, kind, deployment_id, by_name, subject, body, link)
VALUES (@id, @user_id, @kind, sqlc.narg(deployment_id), @by_name, @subject, @body, @link);

-- name: ListPersonNotices :many
-- A person's newest notices, with what access asks about their deployments.
SELECT n.*, d.project_id, d.environment_id, coalesce(e.restricted, false)::boolean AS restricted
FROM person_notices n
    LEFT JOIN deployments d ON d.id = n.deployment_id
    LEFT JOIN environments e ON e.id = d.environment_id
WHERE n.user_id = @user_id ORDER BY n.id DESC LIMIT @most;

-- name: MarkPersonNotices :execrows
-- Read, or not read yet; only the person's own.
UPDATE person_notices SET read_at = CASE WHEN @read::boolean THEN coalesce(read_at, now()) END
WHERE user_id = @user_id AND id = ANY(@ids::uuid[]);

-- name: DeleteOldPersonNotices :execrows
-- Those of long ago, a bounded number.
DELETE FROM person_notices WHERE id IN (
    SELECT n.id FROM person_notices n WHERE n.at < @before ORDER BY n.at LIMIT @most);

-- name: ListAdmins :many
-- Whom requests for access reach.
SELECT id, name, address FROM users
WHERE role = 'admin' AND active AND kind = 'person' ORDER BY name LIMIT 100;
