-- name: StartVolumeHold :execrows
-- No row means that another process has it. An interrupted restore is taken over by the
-- next one: nothing else may give the services half of their data.
INSERT INTO volume_holds (deployment_id, purpose, by_name, holder)
VALUES (@deployment_id, @purpose, @by_name, @holder)
ON CONFLICT (deployment_id) DO UPDATE SET since = now(), seen_at = now(), ended_at = NULL,
    purpose = excluded.purpose, by_name = excluded.by_name, holder = excluded.holder
WHERE volume_holds.ended_at IS NOT NULL
    OR volume_holds.purpose = 'restore' AND excluded.purpose = 'restore'
    AND volume_holds.seen_at < now() - make_interval(secs => @silent_seconds::double precision);

-- name: GetVolumeHold :one
SELECT * FROM volume_holds WHERE deployment_id = @deployment_id AND ended_at IS NULL;

-- name: SeeVolumeHold :execrows
-- A sign of life of who copies. No row means that the hold has ended.
UPDATE volume_holds SET seen_at = now()
WHERE deployment_id = @deployment_id AND holder = @holder AND ended_at IS NULL;

-- name: EndVolumeHold :execrows
-- The row stays for a while, so that nobody takes the start of the services for a fault.
UPDATE volume_holds SET ended_at = now()
WHERE deployment_id = @deployment_id AND holder = @holder AND ended_at IS NULL;

-- name: AbandonVolumeHold :exec
-- Nobody works at it from now on: another process may take it over at once.
UPDATE volume_holds SET seen_at = to_timestamp(0)
WHERE deployment_id = @deployment_id AND holder = @holder;

-- name: DeleteVolumeHold :exec
-- Whoever has it.
DELETE FROM volume_holds WHERE deployment_id = @deployment_id;

-- name: ListLostVolumeHolds :many
-- Backups that nobody works at any more, and holds that ended so long ago that their services
-- had their time to start. The services of a restore wait for their data.
SELECT deployment_id, holder, (ended_at IS NOT NULL)::boolean AS ended FROM volume_holds
WHERE purpose = 'backup' AND ended_at IS NULL
        AND seen_at < now() - make_interval(secs => @silent_seconds::double precision)
    OR ended_at < now() - interval '5 minutes'
ORDER BY deployment_id;

-- name: ClaimFill :many
-- An update whose volumes nobody fills, or whose worker died: those it wrote are another attempt's.
UPDATE volume_holds SET holder = @holder, seen_at = now(), since = now()
WHERE deployment_id = (
    SELECT h.deployment_id FROM volume_holds h JOIN deployments d ON d.id = h.deployment_id
    WHERE h.purpose = 'fill' AND h.ended_at IS NULL AND d.want = 'present' AND d.status = 'applying'
        AND (h.holder = ''
            OR h.seen_at < now() - make_interval(secs => @silent_seconds::double precision))
    ORDER BY h.since LIMIT 1 FOR UPDATE OF h SKIP LOCKED)
RETURNING deployment_id, since;

-- name: ListEndedSources :many
-- Deployments that stand still for an update that has failed, or that does not become ready. In
-- that case late is true.
SELECT h.deployment_id, h.holder,
    (n.want = 'present' AND n.status IN ('queued', 'applying'))::boolean AS late
FROM volume_holds h LEFT JOIN deployments n ON n.id::text = h.holder
WHERE h.purpose = 'source' AND h.ended_at IS NULL
    AND (n.id IS NULL OR n.want = 'gone' OR n.status NOT IN ('queued', 'applying', 'ready')
        OR h.seen_at < now() - make_interval(secs => @start_seconds::double precision))
ORDER BY h.deployment_id;

-- name: ListVolumeOwners :many
-- Deployments that may have volumes: all, those of an environment, or the named ones.
SELECT d.id FROM deployments d JOIN environments e ON e.id = d.environment_id
WHERE d.status NOT IN ('failed', 'canceled', 'removed', 'forgotten')
    AND (@environment::text = '' OR e.name = @environment)
    AND (cardinality(@chosen::text[]) = 0 OR d.id::text = ANY(@chosen) OR d.name = ANY(@chosen))
ORDER BY e.name, d.name, d.id;
