-- name: StartMove :exec
-- What will be made once it is gone here.
INSERT INTO deployment_lives (deployment_id, move, moving_since)
VALUES (@deployment_id, @move, now())
ON CONFLICT (deployment_id) DO UPDATE
SET move = excluded.move, moving_since = excluded.moving_since;

-- name: ListMoves :many
-- Those that are gone where they were, and not made anew yet.
SELECT l.deployment_id, l.move, l.moving_since::timestamptz AS moving_since, d.request_id
FROM deployment_lives l JOIN deployments d ON d.id = l.deployment_id
WHERE l.moving_since IS NOT NULL AND d.status IN ('removed', 'forgotten')
ORDER BY l.moving_since LIMIT @most;

-- name: EndMove :execrows
-- It was made, or given up. No row means that somebody else was faster.
UPDATE deployment_lives SET moving_since = NULL, moved_to = sqlc.narg(moved_to)
WHERE deployment_id = @deployment_id AND moving_since IS NOT NULL;
