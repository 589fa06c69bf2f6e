-- name: PutJob :exec
-- A job as this release knows it. When it is due stays as it was.
INSERT INTO jobs (name, every)
VALUES (@name, make_interval(secs => @seconds::double precision))
ON CONFLICT (name) DO UPDATE SET every = excluded.every;

-- name: ClaimJobs :many
-- The jobs that are due, each for one control plane only: who comes second
-- skips what is locked, and finds it not due any more afterwards.
UPDATE jobs SET next_at = now() + every
WHERE name IN (SELECT j.name FROM jobs j
    WHERE j.next_at <= now() AND j.name = ANY(@names::text[])
    FOR UPDATE SKIP LOCKED)
RETURNING name;

-- name: ListExpired :many
-- Deployments that nobody showed interest in for as long as their rule says.
-- A project's rule replaces the environment's; zero is never.
SELECT d.id FROM deployments d
JOIN projects p ON p.id = d.project_id
JOIN environments e ON e.id = d.environment_id
WHERE d.want = 'present' AND d.status NOT IN ('canceled', 'removed', 'forgotten')
    AND coalesce(p.cleanup_after_hours, e.cleanup_after_hours) > 0
    AND d.active_at + make_interval(
        hours => coalesce(p.cleanup_after_hours, e.cleanup_after_hours)) <= now()
ORDER BY d.active_at, d.id LIMIT @most;

-- name: ListExpiries :many
-- When each of the deployments will be removed by itself, if ever.
SELECT d.id, (d.active_at + make_interval(
    hours => coalesce(p.cleanup_after_hours, e.cleanup_after_hours)))::timestamptz AS expires_at
FROM deployments d
JOIN projects p ON p.id = d.project_id
JOIN environments e ON e.id = d.environment_id
WHERE d.id = ANY(@ids::uuid[]) AND d.want = 'present'
    AND d.status NOT IN ('canceled', 'removed', 'forgotten')
    AND coalesce(p.cleanup_after_hours, e.cleanup_after_hours) > 0;

-- name: TouchDeployment :exec
-- Somebody showed interest: the cleanup rule counts from now.
UPDATE deployments SET active_at = now() WHERE id = @id;

-- name: DatabaseTime :one
-- What the database's clock says; every expiry is measured by it.
SELECT clock_timestamp()::timestamptz;
