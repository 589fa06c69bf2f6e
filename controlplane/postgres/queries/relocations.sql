-- name: StartRelocation :execrows
-- No row means that something of it is elsewhere already.
INSERT INTO relocations (deployment_id, node_id, by_name)
VALUES (@deployment_id, @node_id, @by_name) ON CONFLICT DO NOTHING;

-- name: StartRestoredRelocation :execrows
-- Its data comes from a backup, so that nothing is measured or stopped. No row means that
-- something of it is elsewhere already.
INSERT INTO relocations (deployment_id, node_id, by_name, phase, holder, bytes, from_backup)
VALUES (@deployment_id, @node_id, @by_name, 'copying', @holder, @bytes, true)
ON CONFLICT DO NOTHING;

-- name: GetRelocation :one
-- Where a deployment goes to, or what it has left elsewhere.
SELECT r.*, n.name AS node FROM relocations r JOIN nodes n ON n.id = r.node_id
WHERE r.deployment_id = @deployment_id;

-- name: ListRelocationsTo :many
-- What another deployment's node would have to do without.
SELECT deployment_id FROM relocations WHERE node_id = @node_id ORDER BY deployment_id;

-- name: ListMovingOf :many
-- Those of the deployments that are on their way.
SELECT deployment_id FROM relocations
WHERE deployment_id = ANY(@ids::uuid[]) AND phase <> 'clearing';

-- name: TakeRelocation :one
-- The oldest that nobody works at. since tells an attempt from a later one.
UPDATE relocations SET holder = @holder, seen_at = now()
WHERE deployment_id = (SELECT r.deployment_id FROM relocations r
    WHERE r.phase = 'measuring' AND r.holder = '' ORDER BY r.since LIMIT 1
    FOR UPDATE SKIP LOCKED)
RETURNING deployment_id, since;

-- name: SeeRelocation :execrows
-- A sign of life of who works at it. No row means that it was called off.
UPDATE relocations SET seen_at = now()
WHERE deployment_id = @deployment_id AND since = @since AND holder = @holder
    AND phase IN ('measuring', 'copying');

-- name: HoldRoom :exec
-- Whoever promises a node's disk does so one after the other.
SELECT id FROM nodes WHERE id = @node_id FOR NO KEY UPDATE;

-- name: GetPromised :one
-- What others may yet write to a node's disk, in bytes. The node has not told yet what
-- was written a moment ago.
SELECT coalesce(sum(bytes), 0)::bigint FROM relocations
WHERE node_id = @node_id AND deployment_id <> @deployment_id AND (phase = 'copying'
    OR phase = 'starting' AND seen_at > now() - interval '1 minute');

-- name: PromiseRoom :execrows
-- The copy turned out to take more. No row means that it was called off.
UPDATE relocations SET bytes = @bytes
WHERE deployment_id = @deployment_id AND since = @since AND phase = 'copying';

-- name: MoveRelocation :execrows
-- The only way a phase changes. No row means that somebody was faster.
UPDATE relocations SET phase = @to_phase, node_id = @node_id, bytes = @bytes, seen_at = now(),
    resume = @resume::text[]
WHERE deployment_id = @deployment_id AND since = @since AND phase = @from_phase;

-- name: EndRelocation :exec
-- Nothing of it is elsewhere any more.
DELETE FROM relocations WHERE deployment_id = @deployment_id;

-- name: ListLostRelocations :many
-- Those that nobody works at any more, that take too long to start, and those whose
-- node is away: the one they go to, and, while they are copied, the one they come from.
SELECT r.deployment_id, r.since, (CASE
    WHEN away.name IS NOT NULL THEN 'node ' || away.name || ' went away'
    WHEN r.phase = 'starting' THEN 'its services did not become ready there in time'
    ELSE 'the control plane that copied the volumes is gone' END)::text AS why
FROM relocations r JOIN deployments d ON d.id = r.deployment_id
LEFT JOIN LATERAL (SELECT n.name FROM nodes n
    WHERE (r.phase IN ('copying', 'starting') AND n.id = r.node_id
            OR r.phase = 'copying' AND NOT r.from_backup AND n.id = d.node_id)
        AND n.status <> 'online'
        AND n.since < now() - make_interval(secs => @away_seconds::double precision)
    ORDER BY n.name LIMIT 1) away ON true
WHERE away.name IS NOT NULL
    OR r.phase IN ('measuring', 'copying') AND r.holder <> ''
        AND r.seen_at < now() - make_interval(secs => @silent_seconds::double precision)
    OR r.phase = 'starting'
        AND r.seen_at < now() - make_interval(secs => @start_seconds::double precision)
ORDER BY r.deployment_id;

-- name: NextGeneration :exec
-- What its nodes should have has changed.
UPDATE deployments SET generation = generation + 1 WHERE id = @id;
