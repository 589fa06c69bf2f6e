-- name: StartDrain :execrows
-- Also gives a drain that is under way another deadline.
UPDATE nodes SET drain = 'draining', drain_since = coalesce(drain_since, now()),
    drain_deadline = sqlc.narg(deadline), drain_by = @by
WHERE id = @id AND drain <> 'drained';

-- name: EndDrain :execrows
-- The node takes deployments again.
UPDATE nodes SET drain = '', drain_since = NULL, drain_deadline = NULL, drain_by = ''
WHERE id = @id AND drain <> '';

-- name: FinishDrains :many
-- Those with nothing left are drained; those past their deadline are overdue. What is
-- brought there, or not cleared yet, is something too.
UPDATE nodes n SET drain = CASE WHEN EXISTS (SELECT FROM deployments d WHERE d.node_id = n.id
        AND d.status NOT IN ('canceled', 'removed', 'forgotten'))
    OR EXISTS (SELECT FROM relocations r WHERE r.node_id = n.id) THEN 'overdue'
    ELSE 'drained' END
WHERE n.drain = 'draining' AND n.drain_deadline < now()
    OR n.drain IN ('draining', 'overdue') AND NOT EXISTS (SELECT FROM deployments d
        WHERE d.node_id = n.id AND d.status NOT IN ('canceled', 'removed', 'forgotten'))
    AND NOT EXISTS (SELECT FROM relocations r WHERE r.node_id = n.id)
RETURNING n.id;

-- name: ListStaying :many
-- What is on a node, by name.
SELECT d.id, d.name, p.name AS project, d.created_by, d.status
FROM deployments d JOIN projects p ON p.id = d.project_id
WHERE d.node_id = @node AND d.status NOT IN ('canceled', 'removed', 'forgotten')
ORDER BY d.name;

-- name: InsertForgottenNode :one
-- What was left, and where, when a node was removed by force.
INSERT INTO forgotten_nodes (name, environment, address, thumbprint, forgotten_by, left_behind)
VALUES (@name, @environment, @address, @thumbprint, @forgotten_by, @left_behind)
RETURNING id, forgotten_at;

-- name: ListForgottenNodes :many
-- The newest first.
SELECT * FROM forgotten_nodes WHERE id < @before ORDER BY id DESC LIMIT @most;

-- name: RejectPending :execrows
-- The trusted certificate stays; answering with this one asks nobody again.
UPDATE nodes SET rejected = pending, pending = '', pending_proof_valid = false
WHERE id = @id AND pending = @pending AND pending <> '';

-- name: ForgetRejection :exec
-- Whatever answers next is looked at anew.
UPDATE nodes SET rejected = '' WHERE id = @id;

-- name: GetNodeWithThumbprint :one
-- Another node that is known by this certificate.
SELECT name FROM nodes WHERE thumbprint = @thumbprint AND id <> @id ORDER BY name LIMIT 1;
