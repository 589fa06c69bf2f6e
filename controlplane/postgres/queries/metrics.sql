-- name: CountRuns :many
-- How many runs stand where; what has ended only ever grows.
SELECT status, count(*) AS n FROM runs GROUP BY status ORDER BY status;

-- name: CountNodes :many
-- How many nodes are in which state of their link.
SELECT status, count(*) AS n FROM nodes GROUP BY status ORDER BY status;

-- name: CountWaiting :one
-- How many runs wait for their turn or for room.
SELECT count(*) FROM queue WHERE left_at IS NULL;

-- name: CountDegraded :one
-- How many deployments lists show as degraded.
SELECT count(*) FROM deployments
WHERE degraded <> '' AND deployment_condition(status, degraded, node_id) = 'degraded';
