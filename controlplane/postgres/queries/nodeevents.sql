-- name: AddNodeEvent :exec
-- What happened to a node, beside the changes of state that a trigger tells of.
SELECT tell_of_node(@node::uuid, @kind::text, @detail::text);

-- name: ListNodeEvents :many
-- What happened to one node, newest first.
SELECT e.id, e.at, e.kind, e.detail, e.xact, n.name AS node
FROM node_events e JOIN nodes n ON n.id = e.node_id
WHERE n.name = @name AND e.id < @before ORDER BY e.id DESC LIMIT @most;

-- name: ListNodeEventsSince :many
-- What happened to any node behind a mark, in commit order: no transaction that
-- is still open can add something before what is read here.
SELECT e.id, e.at, e.kind, e.detail, e.xact, n.name AS node
FROM node_events e JOIN nodes n ON n.id = e.node_id
WHERE (e.xact, e.id) > (@xact::bigint, @id::bigint)
    AND e.xact < pg_snapshot_xmin(pg_current_snapshot())::text::bigint
ORDER BY e.xact, e.id LIMIT @most;

-- name: GetNodeEventMark :one
-- Everything before it is committed and visible.
SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS xact;
