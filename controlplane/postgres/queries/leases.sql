-- name: ListLeasable :many
-- Nodes that this holder commands or may: nobody else's lease on them is good. See
-- AcquireLeases about those that last too long. The first row is there always; when the digest of
-- all of them is the known one, it is the only one and names no node.
WITH each AS MATERIALIZED (
    SELECT n.id, n.status FROM nodes n
    LEFT JOIN node_leases l ON l.node_id = n.id AND l.holder <> @holder AND l.expires_at >= now()
        AND l.expires_at <= now() + make_interval(secs => 2 * @seconds::double precision)
    WHERE l.node_id IS NULL
), fleet AS (
    SELECT md5(coalesce(string_agg(id || status, ',' ORDER BY id), ''))::text AS digest FROM each
)
SELECT fleet.digest AS fleet, coalesce(each.id::text, '')::text AS node_id,
    coalesce(each.status, '')::text AS status
FROM fleet LEFT JOIN each ON fleet.digest <> @known::text ORDER BY each.id;

-- name: HoldLease :one
-- Whether the lease is still this holder's, and it stays so until the
-- transaction ends: what is written beside it was written by who had the right.
SELECT (holder = @holder)::boolean FROM node_leases WHERE node_id = @node_id FOR SHARE;
