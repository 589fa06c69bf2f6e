-- name: ClaimUntracedRuns :many
-- Runs that have ended and whose spans nobody has written: they are the caller's now.
UPDATE runs r SET traced = true
FROM deployments d
JOIN projects p ON p.id = d.project_id
JOIN environments e ON e.id = d.environment_id
WHERE d.id = r.deployment_id AND r.id = ANY(ARRAY(
    SELECT u.id FROM runs u WHERE u.traceparent <> '' AND NOT u.traced AND u.ended_at IS NOT NULL
    ORDER BY u.ended_at LIMIT @most FOR UPDATE SKIP LOCKED))
RETURNING r.id, r.deployment_id, r.number, r.traceparent, r.result, r.status, r.created_at,
    r.ended_at, r.failure_code, d.name AS deployment, d.node_name AS node, p.name AS project,
    e.name AS environment;

-- name: ListStepsToTrace :many
-- The steps of some runs, with when a person was asked and answered.
SELECT s.run_id, s.key, s.kind, s.status, s.started_at, s.ended_at, s.undone_at, s.code, s.parts,
    a.asked_at, a.answered_at
FROM run_steps s LEFT JOIN approvals a ON a.run_id = s.run_id AND a.step = s.key
WHERE s.run_id = ANY(@runs::uuid[]) ORDER BY s.run_id, s.position;

-- name: ListQueuesToTrace :many
-- When some runs were queued, and when they were started.
SELECT run_id, queued_at, started_at, attempts FROM queue WHERE run_id = ANY(@runs::uuid[]);

-- name: GetLatestTrace :many
-- The trace of a deployment's latest run, for the ingress; at most one row.
SELECT id, traceparent FROM runs WHERE deployment_id = @deployment_id
ORDER BY number DESC LIMIT 1;
