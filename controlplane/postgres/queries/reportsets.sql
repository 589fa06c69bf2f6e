-- name: LockReports :many
-- The last report committed of many nodes, held until the transaction ends.
INSERT INTO node_reports (node_id, last_seq)
SELECT n.id, 0 FROM unnest(@nodes::uuid[]) AS n(id) ORDER BY n.id
ON CONFLICT (node_id) DO UPDATE SET last_seq = node_reports.last_seq
RETURNING node_id, last_seq;

-- name: AdvanceReportsOf :exec
-- The last reports that are applied now.
UPDATE node_reports r SET last_seq = n.seq
FROM (SELECT unnest(@nodes::uuid[]) AS id, unnest(@seqs::bigint[]) AS seq) n
WHERE r.node_id = n.id AND r.last_seq < n.seq;

-- name: LockDeployments :many
-- Those that exist, held in one order.
SELECT id FROM deployments WHERE id = ANY(@ids::uuid[]) ORDER BY id FOR UPDATE;

-- name: ListRunNumbers :many
-- What a report of progress needs of its run; its pipeline is large.
SELECT id, deployment_id, number FROM runs WHERE id = ANY(@ids::uuid[]);

-- name: ListStepsByKey :many
-- Some steps of some runs.
SELECT s.* FROM run_steps s
JOIN (SELECT unnest(@runs::uuid[]) AS run_id, unnest(@keys::text[]) AS key) w
    ON w.run_id = s.run_id AND w.key = s.key;

-- name: AdvanceRunSteps :exec
-- Where many steps are now, none of them undone. A time before the year 1000 is none, and so are
-- parts without a text.
UPDATE run_steps s SET status = m.status, result = m.result, undone_at = NULL,
    code = m.code, message = m.message,
    parts = CASE WHEN m.parts = '' THEN s.parts ELSE m.parts::jsonb END,
    started_at = CASE WHEN m.started_at >= '1000-01-01' THEN m.started_at END,
    ended_at = CASE WHEN m.ended_at >= '1000-01-01' THEN m.ended_at END
FROM (SELECT unnest(@runs::uuid[]) AS run_id, unnest(@keys::text[]) AS key,
        unnest(@statuses::text[]) AS status, unnest(@results::text[]) AS result,
        unnest(@codes::text[]) AS code,
        unnest(@messages::text[]) AS message, unnest(@parts::text[]) AS parts,
        unnest(@starts::timestamptz[]) AS started_at,
        unnest(@ends::timestamptz[]) AS ended_at) m
WHERE s.run_id = m.run_id AND s.key = m.key;

-- name: InsertHistories :exec
-- Numbers many events of many deployments, whose rows the caller holds, and writes what people
-- read beside their status. Positions count each deployment's events from 1.
WITH counted AS (
    UPDATE deployments d SET last_event = d.last_event + c.events, changed_at = now(),
        detail = CASE WHEN c.told THEN c.detail ELSE d.detail END
    FROM (SELECT unnest(@ids::uuid[]) AS id, unnest(@events::bigint[]) AS events,
        unnest(@told::boolean[]) AS told, unnest(@details::text[]) AS detail) c
    WHERE d.id = c.id RETURNING d.id, d.last_event - c.events AS before, d.request_id
)
INSERT INTO deployment_events (deployment_id, seq, kind, data, request_id)
SELECT e.id, c.before + e.position, e.kind, e.data::jsonb, c.request_id
FROM (SELECT unnest(@deployments::uuid[]) AS id, unnest(@positions::bigint[]) AS position,
    unnest(@kinds::text[]) AS kind, unnest(@all_data::text[]) AS data) e
JOIN counted c ON c.id = e.id ORDER BY e.id, e.position;

-- name: PutHealths :many
-- The health that follows from steps. Rows come back where people see a difference.
INSERT INTO service_health (deployment_id, step, health, ended, detail, restarts, cpu, memory)
SELECT h.deployment_id, h.step, h.health, false, '', 0, 0, 0
FROM (SELECT unnest(@deployments::uuid[]) AS deployment_id, unnest(@steps::text[]) AS step,
    unnest(@healths::text[]) AS health) h ORDER BY h.deployment_id, h.step
ON CONFLICT (deployment_id, step) DO UPDATE
SET health = excluded.health, ended = excluded.ended, detail = excluded.detail,
    restarts = excluded.restarts, cpu = excluded.cpu, memory = excluded.memory, at = now()
WHERE (service_health.health, service_health.ended, service_health.restarts)
        IS DISTINCT FROM (excluded.health, excluded.ended, excluded.restarts)
    OR excluded.health <> 'healthy' AND service_health.detail <> excluded.detail
RETURNING deployment_id;
