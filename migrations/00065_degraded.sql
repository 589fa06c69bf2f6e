-- A ready deployment whose services do not work is degraded. The status stays
-- ready, since nothing about what may be done with it changes; degraded is the
-- reason, empty while all is well. It is written together with the health that
-- it follows from, so that lists can filter by it.

-- +goose Up
ALTER TABLE deployments ADD COLUMN degraded text NOT NULL DEFAULT '';
CREATE INDEX deployments_degraded ON deployments (id) WHERE degraded <> '';

-- What the health rows say of a deployment. Services that were stopped on
-- purpose, for a move to another node, do not count, and neither do those of
-- which nobody knows anything at present.
-- +goose StatementBegin
CREATE FUNCTION degraded_reason(deployment uuid) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT coalesce(string_agg('service ' || h.step || ' is ' || CASE h.health
            WHEN 'unhealthy' THEN 'unhealthy'
            WHEN 'starting' THEN 'restarting'
            ELSE 'not running' END
        || CASE WHEN h.detail = '' THEN '' ELSE ': ' || h.detail END
        || CASE h.restarts WHEN 0 THEN '' WHEN 1 THEN ' (restarted once)'
            ELSE ' (restarted ' || h.restarts || ' times)' END, '; ' ORDER BY h.step), '')
    FROM service_health h
    JOIN deployments d ON d.id = h.deployment_id
    WHERE h.deployment_id = deployment AND d.status = 'ready'
        AND h.health IN ('unhealthy', 'starting', 'stopped')
        AND NOT EXISTS (SELECT FROM relocations r WHERE r.deployment_id = d.id
            AND r.phase IN ('copying', 'starting'))
$$;

-- What people see instead of the status: offline while the node that has
-- something of the deployment is away, degraded instead of ready.
CREATE FUNCTION deployment_condition(status text, degraded text, node uuid) RETURNS text
LANGUAGE sql STABLE AS $$
    SELECT CASE
        WHEN status IN ('applying', 'ready', 'undoing', 'removing', 'stuck')
            AND EXISTS (SELECT FROM nodes n WHERE n.id = node AND n.status <> 'online')
            THEN 'offline'
        WHEN status = 'ready' AND degraded <> '' THEN 'degraded'
        ELSE status END
$$;

CREATE FUNCTION clear_degraded() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.degraded := '';
    RETURN NEW;
END $$;

CREATE FUNCTION notice_of_condition() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.degraded = '' THEN
        INSERT INTO notices (event, deployment_id, request_id)
        VALUES ('deployment.recovered', NEW.id, NEW.request_id);
    ELSE
        -- By the time this is told, it may have recovered.
        INSERT INTO notices (event, deployment_id, request_id, data)
        VALUES ('deployment.degraded', NEW.id, NEW.request_id,
            jsonb_build_object('reason', NEW.degraded));
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd
-- Whoever leaves ready is not degraded any more, whichever query moves it.
CREATE TRIGGER deployments_clear_degraded BEFORE UPDATE OF status ON deployments
    FOR EACH ROW WHEN (NEW.status <> 'ready') EXECUTE FUNCTION clear_degraded();
CREATE TRIGGER deployments_condition_notice AFTER UPDATE OF degraded ON deployments
    FOR EACH ROW WHEN (NEW.status = 'ready' AND OLD.status = 'ready'
        AND (OLD.degraded = '') <> (NEW.degraded = ''))
    EXECUTE FUNCTION notice_of_condition();

-- As before, and with the reason.
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

-- +goose Down
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
DROP TRIGGER deployments_condition_notice ON deployments;
DROP TRIGGER deployments_clear_degraded ON deployments;
DROP FUNCTION notice_of_condition();
DROP FUNCTION clear_degraded();
DROP FUNCTION deployment_condition(text, text, uuid);
DROP FUNCTION degraded_reason(uuid);
ALTER TABLE deployments DROP COLUMN degraded;
