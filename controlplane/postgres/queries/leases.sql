-- name: ListLeasable :many
-- Nodes that this holder commands or may: nobody else's lease on them is good. See
-- AcquireLeases about those that last too long.
SELECT n.id, n.status FROM nodes n
LEFT JOIN node_leases l ON l.node_id = n.id AND l.holder <> @holder AND l.expires_at >= now()
    AND l.expires_at <= now() + make_interval(secs => 2 * @seconds::double precision)
WHERE l.node_id IS NULL ORDER BY n.id;

-- name: HoldLease :one
-- Whether the lease is still this holder's, and it stays so until the
-- transaction ends: what is written beside it was written by who had the right.
SELECT (holder = @holder)::boolean FROM node_leases WHERE node_id = @node_id FOR SHARE;
