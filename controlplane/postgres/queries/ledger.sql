-- name: LockUsageClock :one
-- How far the ledger is. Whoever holds the lock is the only one who writes.
SELECT at, extract(epoch FROM set_by)::double precision AS set_by, measured_until
FROM usage_clock FOR UPDATE;

-- name: PutUsageClock :exec
UPDATE usage_clock SET at = @at, set_by = make_interval(secs => @set_by::double precision),
    measured_until = @measured_until;

-- name: TakeUsageEvents :many
-- The oldest events, which are gone from the outbox once the ledger has them.
WITH taken AS (
    DELETE FROM usage_events WHERE id = ANY(ARRAY(
        SELECT e.id FROM usage_events e ORDER BY e.id LIMIT @most)) RETURNING *)
SELECT * FROM taken ORDER BY id;

-- name: ListOpenUsageOf :many
-- The open intervals of some deployments.
SELECT * FROM usage_open WHERE deployment_id = ANY(@deployments::uuid[]) ORDER BY deployment_id;

-- name: ListOpenUsageBefore :many
-- Some of the open intervals that began before a moment.
SELECT * FROM usage_open WHERE since < @before ORDER BY deployment_id LIMIT @most;

-- name: PutOpenUsage :exec
INSERT INTO usage_open (deployment_id, since, deployment, project_id, project, environment_id,
    environment, node_id, node, team, person, millicores, memory_mib, gpus, volume_mib)
VALUES (@deployment_id, @since, @deployment, @project_id, @project, @environment_id, @environment,
    sqlc.narg(node_id), @node, @team, @person, @millicores, @memory_mib, @gpus, @volume_mib)
ON CONFLICT (deployment_id) DO UPDATE SET since = excluded.since,
    deployment = excluded.deployment, project_id = excluded.project_id,
    project = excluded.project, environment_id = excluded.environment_id,
    environment = excluded.environment, node_id = excluded.node_id, node = excluded.node,
    team = excluded.team, person = excluded.person, millicores = excluded.millicores,
    memory_mib = excluded.memory_mib, gpus = excluded.gpus, volume_mib = excluded.volume_mib;

-- name: EndOpenUsage :exec
DELETE FROM usage_open WHERE deployment_id = @deployment_id;

-- name: ShiftOpenUsage :exec
-- The database's clock was set: what began before begins as much later, or earlier.
UPDATE usage_open SET since = since + make_interval(secs => @by_seconds::double precision);

-- name: ShiftUsageEvents :exec
-- Events that were written before the clock was set.
UPDATE usage_events SET at = at + make_interval(secs => @by_seconds::double precision)
WHERE at >= @since AND at <= @until;

-- name: ShiftBudgetRemovals :exec
-- The notice that people have before something is removed does not end because a clock was set.
UPDATE budget_notices SET remove_at = remove_at + make_interval(secs => @by_seconds::double precision)
WHERE remove_at IS NOT NULL;

-- name: InsertLedgerRow :one
INSERT INTO usage_ledger (kind, deployment_id, deployment, project_id, project, environment_id,
    environment, node, team, person, from_at, until_at, millicore_seconds, memory_mib_seconds,
    gpu_seconds, volume_mib_seconds, traffic_bytes, corrects, reason, written_by)
VALUES (@kind, @deployment_id, @deployment, @project_id, @project, @environment_id, @environment,
    @node, @team, @person, @from_at, @until_at, @millicore_seconds, @memory_mib_seconds,
    @gpu_seconds, @volume_mib_seconds, @traffic_bytes, sqlc.narg(corrects), @reason, @written_by)
RETURNING id;

-- name: InsertTraffic :execrows
-- What deployments sent and received in a stretch of hours, one row for each hour. A measured
-- mean counts for every_seconds. Whose it is, the ledger knows.
INSERT INTO usage_ledger (kind, deployment_id, deployment, project_id, project, environment_id,
    environment, node, team, person, from_at, until_at, traffic_bytes, written_by)
SELECT 'measured', t.subject, a.deployment, a.project_id, a.project, a.environment_id,
    a.environment, a.node, a.team, a.person, t.at, t.at + interval '1 hour', t.bytes, @written_by
FROM (SELECT u.subject, u.at,
        round(sum(u.net_in + u.net_out) * @every_seconds::double precision)::bigint AS bytes
    FROM use_samples u
    WHERE u.width = 3600 AND u.step <> '' AND u.at >= @since AND u.at < @until
    GROUP BY u.subject, u.at) t
JOIN LATERAL (
    SELECT o.deployment, o.project_id, o.project, o.environment_id, o.environment, o.node, o.team,
        o.person, 0 AS rank, o.since AS began
    FROM usage_open o WHERE o.deployment_id = t.subject AND o.since < t.at + interval '1 hour'
    UNION ALL
    SELECT l.deployment, l.project_id, l.project, l.environment_id, l.environment, l.node, l.team,
        l.person, 1, l.from_at
    FROM usage_ledger l WHERE l.deployment_id = t.subject AND l.kind = 'allocated'
        AND l.from_at < t.at + interval '1 hour'
    ORDER BY rank, began DESC LIMIT 1) a ON true
WHERE t.bytes > 0;

-- name: SumLedger :many
-- Balances, for the eyes that may see the deployments: what is in the ledger, and what the open
-- intervals come to until now.
SELECT (CASE WHEN @by_team::boolean THEN r.team ELSE '' END)::text AS team,
    (CASE WHEN @by_project::boolean THEN r.project ELSE '' END)::text AS project,
    (CASE WHEN @by_person::boolean THEN r.person ELSE '' END)::text AS person,
    (CASE WHEN @by_environment::boolean THEN r.environment ELSE '' END)::text AS environment,
    (CASE WHEN @by_node::boolean THEN r.node ELSE '' END)::text AS node,
    (CASE WHEN @by_deployment::boolean THEN r.deployment ELSE '' END)::text AS deployment,
    (CASE WHEN @by_day::boolean THEN to_char(r.from_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') ELSE ''
        END)::text AS day,
    coalesce(sum(r.millicore_seconds), 0)::bigint AS millicore_seconds,
    coalesce(sum(r.memory_mib_seconds), 0)::bigint AS memory_mib_seconds,
    coalesce(sum(r.gpu_seconds), 0)::bigint AS gpu_seconds,
    coalesce(sum(r.volume_mib_seconds), 0)::bigint AS volume_mib_seconds,
    coalesce(sum(r.traffic_bytes), 0)::bigint AS traffic_bytes
FROM (
    SELECT l.team, l.project, l.person, l.environment, l.node, l.deployment, l.project_id,
        l.environment_id, l.from_at, l.millicore_seconds, l.memory_mib_seconds, l.gpu_seconds,
        l.volume_mib_seconds, l.traffic_bytes
    FROM usage_ledger l WHERE l.from_at >= @since AND l.from_at < @until
    UNION ALL
    SELECT o.team, o.project, o.person, o.environment, o.node, o.deployment, o.project_id,
        o.environment_id, o.since, o.millicores * s.seconds, o.memory_mib * s.seconds,
        o.gpus * s.seconds, o.volume_mib * s.seconds, 0
    FROM usage_open o CROSS JOIN LATERAL (SELECT greatest(0,
        floor(extract(epoch FROM now() - o.since)))::bigint AS seconds) s
    WHERE o.since >= @since AND o.since < @until
) r
LEFT JOIN environments e ON e.id = r.environment_id
WHERE (@everything::boolean
        OR (r.project_id = ANY(@projects::uuid[])
            AND (NOT coalesce(e.restricted, false) OR r.environment_id = ANY(@environments::uuid[])))
        OR r.environment_id = ANY(@environments::uuid[]))
    AND (@team_is::text = '' OR r.team = @team_is)
    AND (@project_is::text = '' OR r.project = @project_is)
    AND (@person_is::text = '' OR r.person = @person_is)
    AND (@environment_is::text = '' OR r.environment = @environment_is)
GROUP BY 1, 2, 3, 4, 5, 6, 7
ORDER BY sum(r.millicore_seconds) DESC, 1, 2, 3, 4, 5, 6, 7
LIMIT @most;

-- name: ListLedger :many
-- Rows after one, oldest first, for the eyes that may see the deployments.
SELECT l.* FROM usage_ledger l LEFT JOIN environments e ON e.id = l.environment_id
WHERE l.id > @after AND l.from_at >= @since AND l.from_at < @until
    AND (@everything::boolean
        OR (l.project_id = ANY(@projects::uuid[])
            AND (NOT coalesce(e.restricted, false) OR l.environment_id = ANY(@environments::uuid[])))
        OR l.environment_id = ANY(@environments::uuid[]))
ORDER BY l.id LIMIT @most;

-- name: GetLedgerRows :many
-- One row and its corrections, the row first.
SELECT * FROM usage_ledger WHERE id = @id OR corrects = @id ORDER BY id;

-- name: ListIdle :many
-- Deployments that hold something and that nobody used since a moment, for the eyes that may
-- see them.
SELECT sqlc.embed(o), d.active_at,
    coalesce((SELECT sum(s.mean) FROM (SELECT sum(u.cpu) / sum(u.count) AS mean FROM use_samples u
        WHERE u.subject = d.id AND u.width = 3600 AND u.at > now() - interval '1 day'
        GROUP BY u.step) s), 0)::double precision AS cores,
    coalesce((SELECT sum(l.millicore_seconds) FROM usage_ledger l
        WHERE l.deployment_id = d.id AND l.from_at >= @month), 0)::bigint AS millicore_seconds,
    coalesce((SELECT sum(l.memory_mib_seconds) FROM usage_ledger l
        WHERE l.deployment_id = d.id AND l.from_at >= @month), 0)::bigint AS memory_mib_seconds,
    coalesce((SELECT sum(l.gpu_seconds) FROM usage_ledger l
        WHERE l.deployment_id = d.id AND l.from_at >= @month), 0)::bigint AS gpu_seconds
FROM usage_open o
JOIN deployments d ON d.id = o.deployment_id
JOIN environments e ON e.id = d.environment_id
WHERE d.status IN ('ready', 'failed', 'stuck') AND d.active_at < @idle_since
    AND (@everything::boolean
        OR (d.project_id = ANY(@projects::uuid[])
            AND (NOT e.restricted OR d.environment_id = ANY(@environments::uuid[])))
        OR d.environment_id = ANY(@environments::uuid[]))
ORDER BY o.gpus DESC, o.millicores + o.memory_mib / 4 DESC, d.active_at LIMIT @most;

-- name: GetUsagePrices :many
-- At most one row.
SELECT currency, cpu_hour, memory_gib_hour, gpu_hour, traffic_gib FROM usage_prices;

-- name: PutUsagePrices :exec
INSERT INTO usage_prices (currency, cpu_hour, memory_gib_hour, gpu_hour, traffic_gib)
VALUES (@currency, @cpu_hour, @memory_gib_hour, @gpu_hour, @traffic_gib)
ON CONFLICT (single) DO UPDATE SET currency = excluded.currency, cpu_hour = excluded.cpu_hour,
    memory_gib_hour = excluded.memory_gib_hour, gpu_hour = excluded.gpu_hour,
    traffic_gib = excluded.traffic_gib;

-- name: DeleteUsagePrices :exec
DELETE FROM usage_prices;

-- name: ListBudgets :many
-- All budgets, with when removals begin this month, if they do.
SELECT sqlc.embed(b), n.remove_at FROM budgets b
LEFT JOIN budget_notices n ON n.budget = b.name AND n.month = @month AND n.share = 100
ORDER BY b.name;

-- name: PutBudget :exec
INSERT INTO budgets (name, scope, subject, measure, amount, shares, remove, created_by)
VALUES (@name, @scope, @subject, @measure, @amount, @shares, @remove, @created_by)
ON CONFLICT (name) DO UPDATE SET scope = excluded.scope, subject = excluded.subject,
    measure = excluded.measure, amount = excluded.amount, shares = excluded.shares,
    remove = excluded.remove;

-- name: ForgetBudgetNotices :exec
-- A budget that was changed begins anew: what was said was said of another one.
DELETE FROM budget_notices WHERE budget = @budget;

-- name: DeleteBudget :execrows
DELETE FROM budgets WHERE name = @name;

-- name: InsertBudgetNotice :execrows
-- Said once for a share and month. No row means that it was said.
INSERT INTO budget_notices (budget, month, share, remove_at)
VALUES (@budget, @month, @share, sqlc.narg(remove_at))
ON CONFLICT DO NOTHING;

-- name: ListHeldOf :many
-- What a budget's subject holds at present.
SELECT deployment_id FROM usage_open o WHERE CASE @scope::text
    WHEN 'team' THEN o.team WHEN 'project' THEN o.project WHEN 'person' THEN o.person
    ELSE o.environment END = @subject
ORDER BY deployment_id LIMIT @most;
