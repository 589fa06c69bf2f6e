-- name: PutKeepsake :exec
-- The latest look counts.
INSERT INTO keepsakes (deployment_id, services) VALUES (@deployment_id, @services)
ON CONFLICT (deployment_id) DO UPDATE SET services = excluded.services, taken_at = now();

-- name: GetKeepsake :one
-- What was seen of a deployment last.
SELECT * FROM keepsakes WHERE deployment_id = @deployment_id;

-- name: ListLastLines :many
-- The end of what a step or service said, newest first.
SELECT * FROM log_lines WHERE run_id = @run_id AND step = @step ORDER BY id DESC LIMIT @most;
