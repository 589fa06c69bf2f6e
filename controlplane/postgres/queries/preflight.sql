-- name: ListNodesOfEnvironment :many
-- Placement as it would be now; nobody waits for who only asks.
SELECT id, name, status, inventory, vitals, settings, drain FROM nodes
WHERE environment_id = @environment_id ORDER BY name;

-- name: ListTakenHosts :many
-- Those of the hosts that a deployment has.
SELECT host FROM deployment_hosts WHERE host = ANY(@hosts::text[]) ORDER BY host;
