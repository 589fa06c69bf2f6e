-- name: ListRecorded :many
-- Those of the ids that a deployment has or had.
SELECT id FROM deployments WHERE id = ANY(@ids::uuid[]);

-- name: PutUnknown :exec
-- What an agent says of a deployment that we lost.
INSERT INTO unknown_deployments (node_id, deployment_id, name, project, environment, phase)
VALUES (@node_id, @deployment_id, @name, @project, @environment, @phase)
ON CONFLICT (node_id, deployment_id) DO UPDATE
SET name = excluded.name, project = excluded.project, environment = excluded.environment,
    phase = excluded.phase;

-- name: ListUnknown :many
-- What a node runs that the database has lost, oldest first.
SELECT * FROM unknown_deployments WHERE node_id = @node_id ORDER BY found_at, deployment_id;

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
