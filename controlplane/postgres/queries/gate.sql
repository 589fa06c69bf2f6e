-- name: GetEnvironmentGate :one
-- Without a row an environment is open.
SELECT gate, redirect_https FROM environment_gates WHERE environment_id = @id;

-- name: PutEnvironmentGate :exec
-- What an admin says about an environment's gate.
INSERT INTO environment_gates (environment_id, gate, redirect_https)
VALUES (@id, @gate, @redirect_https)
ON CONFLICT (environment_id) DO UPDATE SET gate = excluded.gate,
    redirect_https = excluded.redirect_https;

-- name: GetDeploymentGate :one
-- Without a row a deployment is as its environment.
SELECT gate FROM deployment_gates WHERE deployment_id = @id;

-- name: PutDeploymentGate :exec
-- What people say about a deployment's gate.
INSERT INTO deployment_gates (deployment_id, gate) VALUES (@id, @gate)
ON CONFLICT (deployment_id) DO UPDATE SET gate = excluded.gate;

-- name: ListZones :many
-- Each environment's part of the name space and its gate.
SELECT e.id, e.name, e.domain, coalesce(g.gate, 'open')::text AS gate,
    coalesce(g.redirect_https, false)::boolean AS redirect_https
FROM environments e LEFT JOIN environment_gates g ON g.environment_id = e.id ORDER BY e.name;

-- name: ListDeploymentGates :many
-- Deployments that ask for more than their environment may.
SELECT deployment_id, gate FROM deployment_gates WHERE gate <> 'open';

-- name: ListStartingSteps :many
-- The steps of what is on its way, for pages that wait.
SELECT d.id AS deployment_id, s.title, s.status FROM deployments d
JOIN LATERAL (
    SELECT r.id FROM runs r WHERE r.deployment_id = d.id ORDER BY r.number DESC LIMIT 1
) r ON true
JOIN run_steps s ON s.run_id = r.id
WHERE d.status IN ('queued', 'applying', 'undoing')
ORDER BY d.id, s.position;

-- name: ListRemovers :many
-- Who took away what still has a page at its address.
SELECT l.deployment_id, l.removed_by FROM deployment_lives l
JOIN deployments d ON d.id = l.deployment_id
WHERE l.removed_by <> '' AND d.status IN ('removing', 'removed', 'stuck', 'canceled', 'forgotten')
    AND (EXISTS (SELECT FROM deployment_hosts h WHERE h.deployment_id = d.id)
        OR EXISTS (SELECT FROM former_hosts f WHERE f.deployment_id = d.id));

-- name: GetHostPlace :one
-- What stands behind a host, or stood there last, as far as access asks.
SELECT h.host, h.step, d.id AS deployment_id, d.name, d.status, d.project_id, d.environment_id,
    e.restricted FROM (
    SELECT o.host, o.step, o.deployment_id, 1 AS rank FROM deployment_hosts o WHERE o.host = @host
    UNION ALL SELECT f.host, f.step, f.deployment_id, 2 FROM former_hosts f WHERE f.host = @host
) h JOIN deployments d ON d.id = h.deployment_id
JOIN environments e ON e.id = d.environment_id ORDER BY h.rank LIMIT 1;

-- name: ListHostPlaces :many
-- The main hosts of what is alive, for names that were nearly right.
SELECT h.host, h.step, d.id AS deployment_id, d.name, d.status, d.project_id, d.environment_id,
    e.restricted FROM deployment_hosts h JOIN deployments d ON d.id = h.deployment_id
JOIN environments e ON e.id = d.environment_id
WHERE h.main AND d.status NOT IN ('canceled', 'removed', 'forgotten')
ORDER BY h.host LIMIT 20000;

-- name: GetMainHost :one
-- Where a guest of a deployment is sent: a service's first host, or the first of all.
SELECT host FROM deployment_hosts
WHERE deployment_id = @deployment_id AND main AND (@step::text = '' OR step = @step)
ORDER BY host LIMIT 1;

-- name: InsertPass :exec
-- A pass; who carries its secret may enter.
INSERT INTO gate_passes (id, kind, hash, environment_id, deployment_id, host, session_id, user_id,
    label, created_by, created_at, expires_at)
VALUES (@id, @kind, @hash, @environment_id, @deployment_id, @host, @session_id, @user_id,
    @label, @created_by, @created_at, @expires_at);

-- name: TakeCode :one
-- A code is used once, on the host it was made for.
DELETE FROM gate_passes WHERE kind = 'code' AND hash = @hash AND host = @host AND expires_at > @now
RETURNING *;

-- name: ListPassesByHash :many
-- Passes that people carry, with what access asks about the place they open.
SELECT p.id, p.kind, p.hash, p.environment_id, p.deployment_id, p.user_id, p.label, p.expires_at,
    p.last_used_at, d.project_id, e.restricted
FROM gate_passes p JOIN environments e ON e.id = p.environment_id
LEFT JOIN deployments d ON d.id = p.deployment_id
LEFT JOIN sessions s ON s.id = p.session_id
WHERE p.kind <> 'code' AND p.hash = ANY(@hashes::bytea[]) AND p.expires_at > @now
    AND (p.session_id IS NULL OR s.expires_at > @now);

-- name: ListPassesOfDeployment :many
-- The guest links of a deployment.
SELECT * FROM gate_passes WHERE kind = 'guest' AND deployment_id = @deployment_id
ORDER BY created_at DESC LIMIT 200;

-- name: ListRobotsOfEnvironment :many
-- The robots of an environment.
SELECT * FROM gate_passes WHERE kind = 'robot' AND environment_id = @environment_id
ORDER BY created_at DESC LIMIT 200;

-- name: DeleteGuest :execrows
-- Withdraws a guest link.
DELETE FROM gate_passes WHERE id = @id AND kind = 'guest' AND deployment_id = @deployment_id;

-- name: DeleteRobot :execrows
-- Withdraws a robot's token.
DELETE FROM gate_passes WHERE id = @id AND kind = 'robot' AND environment_id = @environment_id;

-- name: TouchPass :exec
-- When it was last used, to the minute.
UPDATE gate_passes SET last_used_at = @now WHERE id = @id;

-- name: DeleteOldPasses :exec
-- What is over for a day is of no use to anybody.
DELETE FROM gate_passes WHERE expires_at < @before;
