-- name: ListRecorded :many
-- What is written about the deployments that a node's agent remembers, and
-- about those that the node has to have.
SELECT d.id, d.name, d.generation, d.status, d.node_id, p.name AS project,
    e.name AS environment, r.id AS run_id,
    EXISTS (SELECT FROM relocations m WHERE m.deployment_id = d.id) AS relocating
FROM deployments d
JOIN projects p ON p.id = d.project_id
JOIN environments e ON e.id = d.environment_id
JOIN LATERAL (SELECT r.id FROM runs r WHERE r.deployment_id = d.id
    ORDER BY r.number DESC LIMIT 1) r ON true
WHERE d.id = ANY(@ids::uuid[]) OR d.node_id = @node_id
    AND d.status IN ('applying', 'ready', 'undoing', 'removing', 'stuck')
ORDER BY d.id;

-- name: ListRecordedRuns :many
-- Those of the ids that a run has.
SELECT id FROM runs WHERE id = ANY(@ids::uuid[]);

-- name: PutUnknown :exec
-- What an agent says of a deployment that we lost, or know otherwise.
INSERT INTO unknown_deployments (node_id, deployment_id, name, project, environment, phase,
    disputed, reason, run_id, generation)
VALUES (@node_id, @deployment_id, @name, @project, @environment, @phase,
    @disputed, @reason, @run_id, @generation)
ON CONFLICT (node_id, deployment_id) DO UPDATE
SET name = excluded.name, project = excluded.project, environment = excluded.environment,
    phase = excluded.phase, disputed = excluded.disputed,
    reason = CASE WHEN excluded.reason = '' THEN unknown_deployments.reason
        ELSE excluded.reason END,
    run_id = excluded.run_id, generation = excluded.generation;

-- name: ListUnknown :many
-- What a node runs that the database has lost or knows otherwise, oldest first,
-- and what the database says of it.
SELECT sqlc.embed(u), coalesce(d.status, '')::text AS status,
    coalesce(d.generation, 0)::bigint AS row_generation,
    coalesce((SELECT r.id::text FROM runs r WHERE r.deployment_id = d.id
        ORDER BY r.number DESC LIMIT 1), '')::text AS row_run
FROM unknown_deployments u LEFT JOIN deployments d ON d.id = u.deployment_id
WHERE u.node_id = @node_id ORDER BY u.found_at, u.deployment_id;

-- name: ListDisputes :many
-- The nodes that say something else of a deployment than its row does.
SELECT n.id, n.name FROM unknown_deployments u JOIN nodes n ON n.id = u.node_id
WHERE u.deployment_id = @deployment_id AND u.disputed AND u.purged_at IS NULL ORDER BY n.name;

-- name: DeleteDisputes :exec
-- Somebody decided what is true of a deployment.
DELETE FROM unknown_deployments WHERE deployment_id = @deployment_id AND disputed
    AND purged_at IS NULL;

-- name: AlignDeployment :exec
-- An admin believes the node: this is the goal that it works on.
UPDATE deployments SET generation = @generation, want = @want WHERE id = @id;

-- name: PurgeUnknown :execrows
-- An admin decided that it goes.
UPDATE unknown_deployments SET purged_at = coalesce(purged_at, now())
WHERE node_id = @node_id AND deployment_id = @deployment_id;

-- name: DeleteUnknown :execrows
-- It was adopted.
DELETE FROM unknown_deployments WHERE node_id = @node_id AND deployment_id = @deployment_id;

-- name: DeletePurged :exec
-- Purged, and the node has nothing of it any more.
DELETE FROM unknown_deployments WHERE node_id = @node_id AND purged_at IS NOT NULL
    AND NOT deployment_id = ANY(@still::uuid[]);

-- name: RaiseGeneration :exec
-- An agent that has seen a later goal than the database remembers would take
-- ours for an old one.
UPDATE deployments SET generation = @next WHERE id = @id AND generation < @seen;

-- name: AdoptDeployment :exec
-- What a node has been running goes on under the goal it was told.
UPDATE deployments SET generation = @generation, created_by = @created_by WHERE id = @id;

-- name: RaiseEpoch :execrows
-- A database that was restored has given the node's agent higher epochs than it
-- remembers; this is beyond all of them.
UPDATE node_leases SET epoch = epoch + 1000 WHERE node_id = @node_id;
