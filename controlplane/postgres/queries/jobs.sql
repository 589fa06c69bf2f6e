-- name: PutJob :exec
-- A job as this release knows it. When it is due stays as it was.
INSERT INTO jobs (name, every)
VALUES (@name, make_interval(secs => @seconds::double precision))
ON CONFLICT (name) DO UPDATE SET every = excluded.every;

-- name: ClaimJobs :many
-- The jobs that are due, each for one control plane only: who comes second
-- skips what is locked, and finds it not due any more afterwards. What is due later than
-- two turns from now was done before the clock was set back.
UPDATE jobs SET next_at = now() + every
WHERE name IN (SELECT j.name FROM jobs j
    WHERE (j.next_at <= now() OR j.next_at > now() + 2 * j.every) AND j.name = ANY(@names::text[])
    FOR UPDATE SKIP LOCKED)
RETURNING name;

-- name: WakeJob :exec
-- Somebody wants it done now.
UPDATE jobs SET next_at = now() WHERE name = @name;

-- name: EndJob :exec
-- A job was done.
UPDATE jobs SET failures = 0, failed_because = '' WHERE name = @name AND failures > 0;

-- name: FailJob :exec
-- A job failed. It is due again soon, until subscribers are told (migration 116).
UPDATE jobs SET failures = failures + 1, failed_because = @reason,
    next_at = CASE WHEN failures < 2 THEN least(next_at, now() + interval '1 minute')
        ELSE next_at END
WHERE name = @name;

-- name: ListExpired :many
-- Deployments that nobody showed interest in for as long as their rule says.
-- A project's rule replaces the environment's; zero is never.
SELECT id FROM deployment_expiries WHERE expires_at <= now() ORDER BY expires_at, id LIMIT @most;

-- name: ListExpiries :many
-- When each of the deployments will be removed by itself, if ever.
SELECT id, expires_at::timestamptz AS expires_at FROM deployment_expiries
WHERE id = ANY(@ids::uuid[]) AND expires_at IS NOT NULL;

-- name: TouchDeployment :exec
-- Somebody showed interest: the cleanup rule counts from now.
UPDATE deployments SET active_at = now() WHERE id = @id;

-- name: DatabaseTime :one
-- What the database's clock says; every expiry is measured by it.
SELECT clock_timestamp()::timestamptz;
