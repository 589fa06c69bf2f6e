-- name: PutProcess :exec
-- A process tells that it is alive, and what only it knows.
INSERT INTO processes (id, role, release, skew, report)
VALUES (@id, @role, @release, @skew, @report)
ON CONFLICT (id) DO UPDATE SET seen_at = now(), skew = excluded.skew, report = excluded.report,
    stopped_at = NULL;

-- name: StopProcess :exec
-- It was stopped: nobody misses it.
UPDATE processes SET stopped_at = now() WHERE id = @id;

-- name: DeleteOldProcesses :exec
-- What was stopped, what has been missing for so long that nobody waits for it, and what crashed
-- and was started again on its machine since: that is another process.
DELETE FROM processes p WHERE p.stopped_at < now() - interval '1 minute'
    OR p.seen_at < now() - interval '1 day'
    OR p.seen_at < now() - interval '45 seconds' AND EXISTS (SELECT FROM processes q
        WHERE q.role = p.role AND split_part(q.id, '/', 1) = split_part(p.id, '/', 1)
            AND q.started_at > p.seen_at AND q.stopped_at IS NULL
            AND q.seen_at >= now() - interval '45 seconds');

-- name: CountLiveProcesses :one
-- How many processes of a role have told of themselves lately.
SELECT count(*) FROM processes WHERE role = @role AND stopped_at IS NULL
    AND seen_at > now() - make_interval(secs => @seconds::double precision);

-- name: InsertBackup :exec
-- A backup ended; of the earlier ones only the last that succeeded is still needed.
INSERT INTO backups (error, name, bytes, verified_at)
VALUES (@error, @name, @bytes, sqlc.narg('verified_at'));

-- name: DeleteOldBackups :exec
-- All but the last hundred, and the last one that succeeded.
DELETE FROM backups WHERE id NOT IN (SELECT id FROM backups ORDER BY id DESC LIMIT 100)
    AND id <> (SELECT coalesce(max(id), 0) FROM backups WHERE error = '');

-- name: ListBackups :many
-- How the last backups ended, newest first.
SELECT at, name, bytes, verified_at, error FROM backups ORDER BY id DESC LIMIT 100;

-- name: ListAlertCauses :many
-- Everything in the database that is a reason for an alert now. Detail is for people; the
-- sentence around it is controlplane.AlertRules'.
WITH causes AS (
    SELECT 'node.offline' AS condition, n.id::text AS subject, n.name AS label,
        n.detail AS detail, NULL::uuid AS project_id, n.environment_id AS environment_id,
        NULL::uuid AS deployment_id, n.id AS node_id
    FROM nodes n WHERE n.status = 'offline'
    UNION ALL
    SELECT 'node.' || n.status, n.id::text, n.name, n.detail, NULL, n.environment_id, NULL, n.id
    FROM nodes n WHERE n.status IN ('untrusted', 'incompatible')
    UNION ALL
    SELECT 'node.flapping', n.id::text, n.name, count(*) || ' times', NULL, n.environment_id,
        NULL, n.id
    FROM nodes n JOIN node_events e ON e.node_id = n.id
    WHERE e.kind = 'offline' AND e.at > now() - interval '1 hour' AND n.status <> 'disabled'
    GROUP BY n.id HAVING count(*) >= @flaps::int
    UNION ALL
    SELECT 'node.check', n.id::text || '/' || (c ->> 'id'), n.name,
        left(c ->> 'detail', 1000), NULL, n.environment_id, NULL, n.id
    -- An agent that lies must not fill the list: its first checks are enough to look at it.
    FROM nodes n, LATERAL (SELECT e AS c FROM jsonb_array_elements(
        CASE jsonb_typeof(n.inventory -> 'checks')
        WHEN 'array' THEN n.inventory -> 'checks' ELSE '[]' END) e
        WHERE e ->> 'severity' = 'critical' LIMIT 20) f
    WHERE n.status = 'online'
    UNION ALL
    SELECT 'node.disk', n.id::text, n.name,
        ((n.vitals ->> 'disk_free')::bigint >> 20) || ' MiB free', NULL, n.environment_id, NULL,
        n.id
    FROM nodes n
    WHERE n.status = 'online' AND n.vitals ->> 'disk_free' IS NOT NULL
        AND (n.vitals ->> 'disk_free')::bigint < coalesce(
            nullif((n.settings ->> 'disk_floor_mib')::bigint, 0) << 20, @disk_floor::bigint)
    UNION ALL
    SELECT 'node.disk_filling', n.id::text, n.name,
        CASE WHEN s.free_now / -s.slope < 5400 THEN 'an hour'
            ELSE round((s.free_now / -s.slope / 3600)::numeric) || ' hours' END,
        NULL, n.environment_id, NULL, n.id
    FROM nodes n JOIN LATERAL (
        SELECT regr_slope(u.disk_free, extract(epoch FROM u.at)) AS slope,
            (array_agg(u.disk_free ORDER BY u.at DESC))[1] AS free_now, count(*) AS samples
        FROM use_samples u WHERE u.subject = n.id AND u.step = '' AND u.width = 60
            AND u.at > now() - interval '6 hours' AND u.disk_free > 0) s
        ON s.samples >= 30 AND s.slope < 0 AND s.free_now / -s.slope < 86400
    WHERE n.status = 'online'
    UNION ALL
    SELECT 'node.no_lease', n.id::text, n.name, '', NULL, n.environment_id, NULL, n.id
    FROM nodes n LEFT JOIN node_leases l ON l.node_id = n.id AND l.expires_at >= now()
    WHERE n.status IN ('online', 'offline') AND l.node_id IS NULL
    UNION ALL
    SELECT 'deployment.degraded', d.id::text, d.name, left(d.degraded, 1000), d.project_id,
        d.environment_id, d.id, NULL
    FROM deployments d
    WHERE d.degraded <> '' AND deployment_condition(d.status, d.degraded, d.node_id) = 'degraded'
    UNION ALL
    SELECT 'deployment.stuck', d.id::text, d.name, left(d.detail, 1000), d.project_id,
        d.environment_id, d.id, NULL
    FROM deployments d WHERE d.status = 'stuck'
    UNION ALL
    SELECT 'queue.slow', e.id::text, e.name,
        count(*) || CASE WHEN count(*) = 1 THEN ' run' ELSE ' runs' END, NULL, e.id, NULL, NULL
    FROM queue q JOIN deployments d ON d.id = q.deployment_id
    JOIN environments e ON e.id = d.environment_id
    WHERE q.left_at IS NULL
        AND q.queued_at < now() - make_interval(secs => @queue_seconds::double precision)
    GROUP BY e.id
    UNION ALL
    SELECT 'certificate.order', c.id::text, c.subject, left(c.error, 1000), NULL,
        c.environment_id, NULL, NULL
    FROM acme_certificates c WHERE c.wanted AND c.error <> '' AND c.failures >= 2
    UNION ALL
    SELECT 'rule.schedule', u.id::text, u.name, left(r.detail, 1000), NULL, NULL, r.deployment_id,
        NULL
    FROM reviews r JOIN review_rules u ON u.id = r.rule_id
    WHERE u.source = 'schedule' AND u.active AND r.state = 'failed'
    UNION ALL
    SELECT 'rule.refused', u.id::text, u.name, left(u.refusal, 1000), NULL, NULL, NULL, NULL
    FROM review_rules u WHERE u.active AND u.refusal <> ''
    UNION ALL
    SELECT 'backup.failed', '', '', b.error, NULL, NULL, NULL, NULL
    FROM (SELECT error FROM backups ORDER BY id DESC LIMIT 1) b WHERE b.error <> ''
    UNION ALL
    SELECT 'backup.old', '', '', coalesce(round(extract(epoch FROM now() - max(b.at)) / 3600)
        || ' hours', 'none yet'), NULL, NULL, NULL, NULL
    FROM backups b WHERE b.error = ''
    HAVING max(b.at) < now() - make_interval(secs => @backup_seconds::double precision)
    UNION ALL
    SELECT CASE WHEN t.tampered THEN 'audit.broken' ELSE 'job.failing' END, j.name, j.name,
        left(j.failed_because, 1000), NULL, NULL, NULL, NULL
    FROM jobs j, LATERAL (SELECT starts_with(j.failed_because, @tampered::text) AS tampered) t
    WHERE j.failures >= CASE WHEN t.tampered THEN 1 ELSE 3 END
    UNION ALL
    SELECT 'database.size', '', '', (pg_database_size(current_database()) >> 20) || ' MiB', NULL,
        NULL, NULL, NULL
    WHERE @database_limit::bigint > 0
        AND pg_database_size(current_database()) > @database_limit::bigint
    UNION ALL
    SELECT 'events.late', '', '', round(extract(epoch FROM now() - min(o.at))) || ' seconds',
        NULL, NULL, NULL, NULL
    FROM notices o HAVING min(o.at) < now() - make_interval(secs => @lag_seconds::double precision)
    UNION ALL
    SELECT 'process.lost', p.id, p.role || ' ' || split_part(p.id, '/', 1),
        round(extract(epoch FROM now() - p.seen_at)) || ' seconds', NULL, NULL, NULL, NULL
    FROM processes p WHERE p.stopped_at IS NULL AND p.seen_at < now() - interval '45 seconds'
    UNION ALL
    SELECT 'process.clock', p.id, p.role || ' ' || split_part(p.id, '/', 1),
        round(p.skew::numeric, 1) || ' seconds', NULL, NULL, NULL, NULL
    FROM processes p WHERE p.stopped_at IS NULL AND p.seen_at >= now() - interval '45 seconds'
        AND abs(p.skew) > 5
    UNION ALL
    SELECT 'database.pool', p.id, p.role || ' ' || split_part(p.id, '/', 1),
        CASE p.report ->> 'pool_waits' WHEN '0' THEN 'none was free'
            ELSE (p.report ->> 'pool_waits') || ' waits' END, NULL, NULL, NULL, NULL
    FROM processes p WHERE p.stopped_at IS NULL AND p.seen_at >= now() - interval '45 seconds'
        AND (p.report ->> 'pool_exhausted')::boolean
    UNION ALL
    SELECT 'key.missing', p.id || '/' || k.key, k.key || ' of the ' || p.role || ' '
        || split_part(p.id, '/', 1), k.value || CASE WHEN k.value = '1' THEN ' value' ELSE ' values'
        END, NULL, NULL, NULL, NULL
    FROM processes p, jsonb_each_text(CASE jsonb_typeof(p.report -> 'missing_keys')
        WHEN 'object' THEN p.report -> 'missing_keys' ELSE '{}' END) k
    WHERE p.stopped_at IS NULL AND p.seen_at >= now() - interval '45 seconds'
    UNION ALL
    SELECT 'ingress.stale', p.id, split_part(p.id, '/', 1),
        round((p.report ->> 'routes_age')::numeric) || ' seconds', NULL, NULL, NULL, NULL
    FROM processes p WHERE p.stopped_at IS NULL AND p.seen_at >= now() - interval '45 seconds'
        AND (p.report ->> 'routes_age')::double precision > @routes_seconds::double precision
    UNION ALL
    SELECT 'ingress.errors', e.id::text, e.name, sum((a.value ->> 'errors')::bigint) || ' of '
        || sum((a.value ->> 'answers')::bigint), NULL, e.id, NULL, NULL
    FROM processes p, jsonb_each(CASE jsonb_typeof(p.report -> 'answers')
        WHEN 'object' THEN p.report -> 'answers' ELSE '{}' END) a
    JOIN environments e ON e.name = a.key
    WHERE p.stopped_at IS NULL AND p.seen_at >= now() - interval '45 seconds'
    GROUP BY e.id
    HAVING sum((a.value ->> 'answers')::bigint) >= 50
        AND sum((a.value ->> 'errors')::bigint) * 10 >= sum((a.value ->> 'answers')::bigint)
)
SELECT condition::text AS condition, subject::text AS subject, label::text AS label,
    coalesce(detail, '')::text AS detail, coalesce(project_id::text, '')::text AS project_id,
    coalesce(environment_id::text, '')::text AS environment_id,
    coalesce(deployment_id::text, '')::text AS deployment_id,
    coalesce(node_id::text, '')::text AS node_id
FROM causes;

-- name: StartAlerts :exec
-- Causes were found: their alerts start, or go on. All at once: when a network fails there are
-- thousands.
INSERT INTO alerts (id, condition, subject, severity, label, detail, project_id, environment_id,
    deployment_id, node_id, active_at)
SELECT DISTINCT ON (c.condition, c.subject) c.id, c.condition, c.subject, c.severity, c.label,
    c.detail, nullif(c.project, '')::uuid, nullif(c.environment, '')::uuid,
    nullif(c.deployment, '')::uuid, nullif(c.node, '')::uuid,
    now() + make_interval(secs => c.delay)
FROM (SELECT unnest(@ids::uuid[]) AS id, unnest(@conditions::text[]) AS condition,
        unnest(@subjects::text[]) AS subject, unnest(@severities::text[]) AS severity,
        unnest(@labels::text[]) AS label, unnest(@details::text[]) AS detail,
        unnest(@projects::text[]) AS project, unnest(@environments::text[]) AS environment,
        unnest(@deployments::text[]) AS deployment, unnest(@nodes::text[]) AS node,
        unnest(@delays::double precision[]) AS delay) c
ORDER BY c.condition, c.subject
ON CONFLICT (condition, subject) WHERE ended_at IS NULL DO UPDATE
SET severity = excluded.severity, label = excluded.label, detail = excluded.detail
WHERE (alerts.severity, alerts.label, alerts.detail)
    IS DISTINCT FROM (excluded.severity, excluded.label, excluded.detail);

-- name: ForgetShortAlerts :exec
-- What ended before it counted was nothing.
DELETE FROM alerts a WHERE a.ended_at IS NULL AND a.active_at > now()
    AND a.condition = ANY(@conditions::text[])
    AND (a.condition, a.subject) NOT IN (SELECT unnest(@seen_conditions::text[]),
        unnest(@seen_subjects::text[]));

-- name: EndAlerts :exec
-- The cause is gone, of those conditions that could be judged.
UPDATE alerts a SET ended_at = now() WHERE a.ended_at IS NULL
    AND a.condition = ANY(@conditions::text[])
    AND (a.condition, a.subject) NOT IN (SELECT unnest(@seen_conditions::text[]),
        unnest(@seen_subjects::text[]));

-- name: ListAlertStarts :many
-- Alerts that count, and of which nobody was told; a silence holds them back.
UPDATE alerts a SET notified_at = now()
WHERE a.ended_at IS NULL AND a.notified_at IS NULL AND a.active_at <= now()
    AND NOT EXISTS (SELECT FROM alert_silences s WHERE s.until > now()
        AND s.condition = a.condition AND s.subject = a.subject)
RETURNING a.*;

-- name: ListAlertEnds :many
-- Alerts that ended, of those whose start was told.
UPDATE alerts a SET end_notified_at = now()
WHERE a.ended_at IS NOT NULL AND a.notified_at IS NOT NULL AND a.end_notified_at IS NULL
RETURNING a.*;

-- name: InsertAlertNotice :exec
-- The outbox of all notifications.
INSERT INTO notices (event, deployment_id, node_id, data)
VALUES (@event, sqlc.narg(deployment_id), sqlc.narg(node_id), @data);

-- name: DeleteOldAlerts :exec
-- What ended is kept for a while, silences until they end.
DELETE FROM alerts WHERE ended_at < now() - interval '30 days';

-- name: DeleteEndedSilences :exec
-- A silence that is over.
DELETE FROM alert_silences WHERE until <= now();

-- name: ListAlerts :many
-- Alerts that count, newest first, with their silence. Those that ended come only if asked for.
SELECT a.id, a.condition, a.subject, a.severity, a.label, a.detail, a.project_id,
    a.environment_id, a.deployment_id, a.node_id, a.started_at, a.ended_at, a.acknowledged_at,
    a.acknowledged_by, s.until AS silenced_until, coalesce(s.reason, '')::text AS silence_reason,
    coalesce(s.created_by, '')::text AS silenced_by,
    coalesce(e.restricted, false)::boolean AS restricted,
    coalesce(e.name, '')::text AS environment, coalesce(n.name, '')::text AS node
FROM alerts a
LEFT JOIN alert_silences s ON s.condition = a.condition AND s.subject = a.subject
    AND s.until > now()
LEFT JOIN environments e ON e.id = a.environment_id
LEFT JOIN nodes n ON n.id = a.node_id
WHERE a.active_at <= now() AND (a.ended_at IS NULL OR @ended::boolean)
ORDER BY a.ended_at IS NOT NULL, a.severity, a.started_at DESC, a.id
LIMIT @most;

-- name: GetAlert :one
-- One alert that counts.
SELECT a.id, a.condition, a.subject, a.severity, a.label, a.detail, a.project_id,
    a.environment_id, a.deployment_id, a.node_id, a.started_at, a.ended_at, a.acknowledged_at,
    a.acknowledged_by, s.until AS silenced_until, coalesce(s.reason, '')::text AS silence_reason,
    coalesce(s.created_by, '')::text AS silenced_by,
    coalesce(e.restricted, false)::boolean AS restricted,
    coalesce(e.name, '')::text AS environment, coalesce(n.name, '')::text AS node
FROM alerts a
LEFT JOIN alert_silences s ON s.condition = a.condition AND s.subject = a.subject
    AND s.until > now()
LEFT JOIN environments e ON e.id = a.environment_id
LEFT JOIN nodes n ON n.id = a.node_id
WHERE a.active_at <= now() AND a.id = @id;

-- name: AcknowledgeAlert :exec
-- Somebody looks after it. The first one stays named.
UPDATE alerts SET acknowledged_at = now(), acknowledged_by = @by
WHERE id = @id AND acknowledged_at IS NULL;

-- name: PutAlertSilence :exec
-- Nobody is told of this condition of this subject for a while.
INSERT INTO alert_silences (condition, subject, until, reason, created_by)
VALUES (@condition, @subject, @until, @reason, @created_by)
ON CONFLICT (condition, subject) DO UPDATE SET until = excluded.until, reason = excluded.reason,
    created_by = excluded.created_by, created_at = now();

-- name: DeleteAlertSilence :exec
-- It is told of again.
DELETE FROM alert_silences WHERE condition = @condition AND subject = @subject;

-- name: CountAlerts :many
-- Open alerts, for metrics.
SELECT condition, severity, count(*) AS n FROM alerts
WHERE ended_at IS NULL AND active_at <= now() GROUP BY condition, severity
ORDER BY condition, severity;
