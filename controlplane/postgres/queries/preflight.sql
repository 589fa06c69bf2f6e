-- name: ListNodesOfEnvironment :many
-- Placement as it would be now; nobody waits for who only asks.
SELECT id, name, status, inventory, vitals, settings, drain FROM nodes
WHERE environment_id = @environment_id ORDER BY name;

-- name: GetCapacityRules :one
-- How room on an environment's nodes is counted.
SELECT capacity FROM environments WHERE id = @id;

-- name: ListLeastCPU :many
-- The least CPU in use at any time of the last seconds, of nodes that have been
-- measured since that long, give or take a quarter.
SELECT m.subject, m.cpu FROM (
    SELECT u.subject, min(u.cpu / u.count)::double precision AS cpu, min(u.at) AS since
    FROM use_samples u
    WHERE u.subject = ANY(@nodes::uuid[]) AND u.width = 0 AND u.step = ''
        AND u.at >= now() - make_interval(secs => @seconds::double precision)
    GROUP BY u.subject
) m
WHERE m.since <= now() - make_interval(secs => 0.75 * @seconds::double precision);

-- name: ListTakenHosts :many
-- Those of the hosts that a deployment has.
SELECT host FROM deployment_hosts WHERE host = ANY(@hosts::text[]) ORDER BY host;
