-- The request that wanted something, beside what came of it: a person who has an
-- id from an answer or a log finds the run, what happened to it, and what
-- webhooks were told. Reports of nodes come much later and in transactions of
-- their own, so the deployment keeps the id; events and notices copy it.

-- +goose Up
-- The request under way, which every audited transaction notes at its beginning
-- (Store.Audited); empty for what the control plane does by itself.
-- +goose StatementBegin
CREATE FUNCTION current_request() RETURNS text LANGUAGE sql STABLE AS $$
    SELECT coalesce(current_setting('nullops.request', true), '')
$$;
-- +goose StatementEnd

-- Who last said what should become of the deployment.
ALTER TABLE deployments ADD COLUMN request_id text NOT NULL DEFAULT current_request();
ALTER TABLE runs ADD COLUMN request_id text NOT NULL DEFAULT current_request();
ALTER TABLE deployment_events ADD COLUMN request_id text NOT NULL DEFAULT '';
ALTER TABLE notices ADD COLUMN request_id text NOT NULL DEFAULT '';

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION notice_of_deployment() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO notices (event, deployment_id, request_id)
        VALUES ('deployment.created', NEW.id, NEW.request_id);
    ELSIF OLD.status <> NEW.status AND NEW.status IN
        ('ready', 'failed', 'canceled', 'removed', 'stuck', 'forgotten') THEN
        INSERT INTO notices (event, deployment_id, request_id)
        VALUES ('deployment.' || NEW.status, NEW.id, NEW.request_id);
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd

-- A deployment as lists and pages show it, as before and with its request.
DROP VIEW deployment_rows;
CREATE VIEW deployment_rows AS
SELECT d.id, d.name, d.project_id, d.environment_id, d.node_id, d.node_name, d.created_by,
    d.created_at, d.want, d.generation, d.canceled, d.status, d.detail, d.changed_at, d.ready_at,
    d.left_behind, d.cpu, d.memory_mib, d.versions, d.last_event, d.last_line, d.request_id,
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

-- +goose Down
DROP VIEW deployment_rows;
CREATE VIEW deployment_rows AS
SELECT d.id, d.name, d.project_id, d.environment_id, d.node_id, d.node_name, d.created_by,
    d.created_at, d.want, d.generation, d.canceled, d.status, d.detail, d.changed_at, d.ready_at,
    d.left_behind, d.cpu, d.memory_mib, d.versions, d.last_event, d.last_line,
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
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION notice_of_deployment() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO notices (event, deployment_id) VALUES ('deployment.created', NEW.id);
    ELSIF OLD.status <> NEW.status AND NEW.status IN
        ('ready', 'failed', 'canceled', 'removed', 'stuck', 'forgotten') THEN
        INSERT INTO notices (event, deployment_id)
        VALUES ('deployment.' || NEW.status, NEW.id);
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd
ALTER TABLE notices DROP COLUMN request_id;
ALTER TABLE deployment_events DROP COLUMN request_id;
ALTER TABLE runs DROP COLUMN request_id;
ALTER TABLE deployments DROP COLUMN request_id;
DROP FUNCTION current_request();
