-- What a request sets besides versions: values of the fields that the pipeline declares. They
-- belong to the run, like its pipeline.

-- +goose Up
ALTER TABLE runs ADD COLUMN input jsonb NOT NULL DEFAULT '{}'
    CHECK (jsonb_typeof(input) = 'object');

-- As before, and with the latest run's input.
CREATE OR REPLACE VIEW deployment_rows AS
SELECT d.id, d.name, d.project_id, d.environment_id, d.node_id, d.node_name, d.created_by,
    d.created_at, d.want, d.generation, d.canceled, d.status, d.detail, d.changed_at, d.ready_at,
    d.left_behind, d.cpu, d.memory_mib, d.versions, d.last_event, d.last_line, d.request_id,
    d.degraded,
    p.name AS project, e.name AS environment, e.domain, e.restricted,
    coalesce(n.status, '')::text AS node_status,
    coalesce(n.since, d.changed_at)::timestamptz AS node_since,
    r.id AS run_id, r.number AS run, r.pipeline_version, r.failure_step, r.failure_code,
    r.failure_message,
    (SELECT count(*) FROM run_steps s WHERE s.run_id = r.id) AS steps_total,
    (SELECT count(*) FROM run_steps s WHERE s.run_id = r.id AND s.status = 'done') AS steps_done,
    r.input
FROM deployments d
JOIN projects p ON p.id = d.project_id
JOIN environments e ON e.id = d.environment_id
LEFT JOIN nodes n ON n.id = d.node_id
JOIN LATERAL (
    SELECT r.id, r.number, r.pipeline_version, r.failure_step, r.failure_code, r.failure_message,
        r.input
    FROM runs r WHERE r.deployment_id = d.id ORDER BY r.number DESC LIMIT 1
) r ON true;

-- +goose Down
DROP VIEW deployment_rows;
CREATE VIEW deployment_rows AS
SELECT d.id, d.name, d.project_id, d.environment_id, d.node_id, d.node_name, d.created_by,
    d.created_at, d.want, d.generation, d.canceled, d.status, d.detail, d.changed_at, d.ready_at,
    d.left_behind, d.cpu, d.memory_mib, d.versions, d.last_event, d.last_line, d.request_id,
    d.degraded,
    p.name AS project, e.name AS environment, e.domain, e.restricted,
    coalesce(n.status, '')::text AS node_status,
    coalesce(n.since, d.changed_at)::timestamptz AS node_since,
    r.id AS run_id, r.number AS run, r.pipeline_version, r.failure_step, r.failure_code,
    r.failure_message,
    (SELECT count(*) FROM run_steps s WHERE s.run_id = r.id) AS steps_total,
    (SELECT count(*) FROM run_steps s WHERE s.run_id = r.id AND s.status = 'done') AS steps_done
FROM deployments d
JOIN projects p ON p.id = d.project_id
JOIN environments e ON e.id = d.environment_id
LEFT JOIN nodes n ON n.id = d.node_id
JOIN LATERAL (
    SELECT r.id, r.number, r.pipeline_version, r.failure_step, r.failure_code, r.failure_message
    FROM runs r WHERE r.deployment_id = d.id ORDER BY r.number DESC LIMIT 1
) r ON true;
ALTER TABLE runs DROP COLUMN input;
