-- name: AcquireLeases :many
-- Free, expired, or ours already: a new holder gets a higher epoch, which the
-- agent remembers and holds against the one before. Those that somebody else has
-- are left out. One that lasts twice as long as a lease was taken before the clock was
-- set back, and its holder may be gone. In the order of ids, so that two control
-- planes cannot lock each other out.
INSERT INTO node_leases (node_id, holder, epoch, expires_at)
SELECT n.id, @holder::text, 1, now() + make_interval(secs => @seconds::double precision)
FROM nodes n WHERE n.id = ANY(@nodes::uuid[]) ORDER BY n.id
ON CONFLICT (node_id) DO UPDATE SET holder = excluded.holder,
    epoch = node_leases.epoch + CASE WHEN node_leases.holder = excluded.holder THEN 0 ELSE 1 END,
    expires_at = excluded.expires_at
WHERE node_leases.holder = excluded.holder OR node_leases.expires_at < now()
    OR node_leases.expires_at > now() + make_interval(secs => 2 * @seconds::double precision)
RETURNING node_id, epoch;

-- name: RenewLeases :many
-- Renews all at once and gives those that were not: lost ones are somebody
-- else's, the others were locked by who checks them and come next time.
WITH mine AS (
    SELECT l.node_id FROM node_leases l
    WHERE l.node_id = ANY(@nodes::uuid[]) AND l.holder = @holder ORDER BY l.node_id
    FOR UPDATE SKIP LOCKED
), renewed AS (
    UPDATE node_leases l SET expires_at = now() + make_interval(secs => @seconds::double precision)
    FROM mine WHERE l.node_id = mine.node_id RETURNING l.node_id
)
SELECT n.id::uuid AS id,
    (NOT EXISTS (SELECT FROM node_leases l WHERE l.node_id = n.id AND l.holder = @holder))::boolean
        AS lost
FROM unnest(@nodes::uuid[]) AS n(id) WHERE n.id NOT IN (SELECT node_id FROM renewed);

-- name: ListBeginnings :many
-- What it takes to begin sessions with many nodes: how to reach them, the last
-- report of each, and whether anything is on it at all.
SELECT sqlc.embed(n), e.name AS environment, coalesce(t.kid, '')::text AS kid, t.verifier,
    coalesce(r.last_seq, 0)::bigint AS last_seq,
    ARRAY(SELECT p.kid FROM node_tokens p WHERE p.node_id = n.id AND p.revocation_pending
        ORDER BY p.created_at, p.kid)::text[] AS pending,
    (EXISTS (SELECT FROM deployments d WHERE d.node_id = n.id
            AND d.status NOT IN ('failed', 'canceled', 'removed', 'forgotten'))
        OR EXISTS (SELECT FROM relocations o WHERE o.node_id = n.id)
        OR EXISTS (SELECT FROM unknown_deployments u WHERE u.node_id = n.id))::boolean AS busy
FROM nodes n
JOIN environments e ON e.id = n.environment_id
LEFT JOIN node_tokens t ON t.node_id = n.id AND t.revoked_at IS NULL
LEFT JOIN node_reports r ON r.node_id = n.id
WHERE n.id = ANY(@nodes::uuid[]);

-- name: ListDigests :many
-- One word for each node that the holder commands: it changes with all that a
-- session has to act on. This makes up for lost wake-ups.
-- The first row is there always; when the digest of all of them is the known one, it is the only
-- one and names no node.
WITH each AS MATERIALIZED (
    SELECT n.id, md5(concat_ws('|', n.status, t.state, g.state))::text AS digest
    FROM node_leases l
    JOIN nodes n ON n.id = l.node_id
    LEFT JOIN (
        SELECT t.node_id, string_agg(t.kid || t.revocation_pending, ',' ORDER BY t.kid) AS state
        FROM node_tokens t WHERE t.revoked_at IS NULL OR t.revocation_pending GROUP BY t.node_id
    ) t ON t.node_id = n.id
    LEFT JOIN (
        SELECT o.node_id, string_agg(concat_ws('.', d.id, d.generation,
            CASE WHEN d.status = 'ready' THEN 0 ELSE d.last_event END), ',' ORDER BY d.id) AS state
        FROM node_goals o JOIN deployments d ON d.id = o.deployment_id GROUP BY o.node_id
    ) g ON g.node_id = n.id
    WHERE l.holder = @holder
), fleet AS (
    SELECT md5(coalesce(string_agg(id || digest, ',' ORDER BY id), ''))::text AS digest FROM each
)
SELECT fleet.digest AS fleet, coalesce(each.id::text, '')::text AS node_id,
    coalesce(each.digest, '')::text AS digest
FROM fleet LEFT JOIN each ON fleet.digest <> @known::text;

-- name: ListDigestsOf :many
-- The same for a few nodes. While thousands of nodes come back this is asked all the time, so it
-- reads what belongs to these nodes only. ListDigests, which groups the tokens and deployments of
-- all nodes, costs less for all of them.
SELECT n.id::text AS node_id, md5(concat_ws('|', n.status,
    (SELECT string_agg(t.kid || t.revocation_pending, ',' ORDER BY t.kid) FROM node_tokens t
        WHERE t.node_id = n.id AND (t.revoked_at IS NULL OR t.revocation_pending)),
    (SELECT string_agg(concat_ws('.', d.id, d.generation,
            CASE WHEN d.status = 'ready' THEN 0 ELSE d.last_event END), ',' ORDER BY d.id)
        FROM node_goals o JOIN deployments d ON d.id = o.deployment_id
        WHERE o.node_id = n.id)))::text AS digest
FROM node_leases l JOIN nodes n ON n.id = l.node_id
WHERE l.holder = @holder AND l.node_id = ANY(@nodes::uuid[]);

-- name: ListAwaitedNodes :many
-- The holder's nodes where a run waits for room on any node of the environment: admission needs
-- their figures as they are now.
SELECT l.node_id FROM node_leases l JOIN nodes n ON n.id = l.node_id
WHERE l.holder = @holder AND n.environment_id IN (
    SELECT d.environment_id FROM queue q JOIN deployments d ON d.id = q.deployment_id
    WHERE q.left_at IS NULL AND d.node_id IS NULL);
