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

-- name: CountDeployments :many
-- How many deployments stand where, of those that are not gone.
SELECT status, count(*) AS n FROM deployments
WHERE status NOT IN ('canceled', 'removed', 'forgotten') GROUP BY status ORDER BY status;

-- name: ReadInstallationMetrics :one
-- One row of everything that is one number.
SELECT
    coalesce((SELECT extract(epoch FROM now() - min(q.queued_at)) FROM queue q
        WHERE q.left_at IS NULL), 0)::double precision AS queue_oldest,
    (SELECT count(*) FROM node_leases l WHERE l.expires_at >= now()) AS leases_held,
    (SELECT count(*) FROM node_leases l WHERE l.expires_at < now()) AS leases_expired,
    (SELECT count(*) FROM notices) AS notices,
    coalesce((SELECT extract(epoch FROM now() - min(o.at)) FROM notices o), 0)::double precision
        AS notices_oldest,
    (SELECT count(*) FROM deliveries d WHERE d.status = 'waiting') AS deliveries,
    pg_database_size(current_database())::bigint AS database_size,
    coalesce((SELECT h.seq FROM audit_head h), 0)::bigint AS audit_entries,
    coalesce((SELECT extract(epoch FROM max(b.at)) FROM backups b WHERE b.error = ''),
        0)::double precision AS backup_at,
    coalesce((SELECT b.error <> '' FROM backups b ORDER BY b.id DESC LIMIT 1), false)::boolean
        AS backup_failed,
    clock_timestamp()::timestamptz AS database_time;

-- name: ListJobFailures :many
-- How often each job failed in a row.
SELECT name, failures FROM jobs ORDER BY name;

-- name: CountProcesses :many
-- Processes that told of themselves lately.
SELECT role, count(*) AS n FROM processes WHERE stopped_at IS NULL
    AND seen_at > now() - interval '1 minute' GROUP BY role ORDER BY role;

-- name: ListNodeMetrics :many
-- What agents report of each node, but of those that people switched off.
SELECT n.name, e.name AS environment,
    coalesce((n.inventory ->> 'cpu')::double precision, 0)::double precision AS cpu,
    coalesce((n.inventory ->> 'memory')::bigint, 0)::bigint AS memory,
    coalesce((n.inventory ->> 'disk')::bigint, 0)::bigint AS disk,
    coalesce((n.vitals ->> 'cpu')::double precision, 0)::double precision AS cpu_used,
    coalesce((n.vitals ->> 'memory_used')::bigint, 0)::bigint AS memory_used,
    coalesce((n.vitals ->> 'disk_free')::bigint, 0)::bigint AS disk_free,
    coalesce((n.vitals -> 'images' ->> 'bytes')::bigint, 0)::bigint AS images,
    coalesce((n.vitals -> 'images' ->> 'freed')::bigint, 0)::bigint AS freed,
    coalesce(extract(epoch FROM now() - (n.vitals ->> 'at')::timestamptz), 0)::double precision
        AS age,
    (SELECT count(*) FROM jsonb_array_elements(CASE jsonb_typeof(n.inventory -> 'checks')
        WHEN 'array' THEN n.inventory -> 'checks' ELSE '[]' END) c
        WHERE c ->> 'severity' = 'critical') AS critical,
    (SELECT count(*) FROM jsonb_array_elements(CASE jsonb_typeof(n.inventory -> 'checks')
        WHEN 'array' THEN n.inventory -> 'checks' ELSE '[]' END) c
        WHERE c ->> 'severity' = 'warning') AS warning
FROM nodes n JOIN environments e ON e.id = n.environment_id
WHERE n.status <> 'disabled' AND n.vitals IS NOT NULL ORDER BY n.name;

-- name: CountEndedRuns :many
-- How many runs ended in between, and how.
SELECT status, failure_code, count(*) AS n FROM runs
WHERE ended_at > @since::timestamptz AND ended_at <= @until::timestamptz
GROUP BY status, failure_code ORDER BY status, failure_code;

-- name: ListQueueWaits :many
-- How long the runs had waited that started in between.
SELECT extract(epoch FROM started_at - queued_at)::double precision AS waited FROM queue
WHERE started_at > @since::timestamptz AND started_at <= @until::timestamptz
ORDER BY started_at LIMIT 10000;
