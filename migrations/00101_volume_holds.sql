-- Deployments whose volumes a backup copies, or a restore writes, where the deployment
-- is: its services are stopped meanwhile. And relocations whose data comes from a backup
-- instead of the deployment's own node, which may be gone.

-- +goose Up
CREATE TABLE volume_holds (
    deployment_id uuid PRIMARY KEY REFERENCES deployments ON DELETE CASCADE,
    purpose    text NOT NULL CHECK (purpose IN ('backup', 'restore')),
    by_name    text NOT NULL,
    since      timestamptz NOT NULL DEFAULT now(),
    -- The process that copies, and when it last said so.
    holder     text NOT NULL,
    seen_at    timestamptz NOT NULL DEFAULT now(),
    -- Since then the services start again. For five minutes that is no fault of theirs.
    ended_at   timestamptz
);
ALTER TABLE relocations ADD COLUMN from_backup boolean NOT NULL DEFAULT false;

CREATE OR REPLACE VIEW node_goals AS
SELECT d.node_id, d.id AS deployment_id, d.want, false AS elsewhere,
    (coalesce(r.phase IN ('copying', 'starting'), false)
        OR EXISTS (SELECT FROM volume_holds h WHERE h.deployment_id = d.id
            AND h.ended_at IS NULL))::boolean AS still
FROM deployments d LEFT JOIN relocations r ON r.deployment_id = d.id
WHERE d.node_id IS NOT NULL AND d.status NOT IN ('failed', 'canceled', 'removed', 'forgotten')
UNION ALL
SELECT r.node_id, r.deployment_id, CASE r.phase WHEN 'clearing' THEN 'gone' ELSE 'present' END,
    true, r.phase = 'copying'
FROM relocations r WHERE r.phase <> 'measuring';

CREATE OR REPLACE VIEW route_rows AS
SELECT h.host, h.step, h.port, d.id AS deployment_id, d.name AS deployment,
    -- One whose volumes are copied will answer in a while, as one that is being made.
    (CASE WHEN d.status = 'ready' AND (EXISTS (SELECT FROM relocations r
            WHERE r.deployment_id = d.id AND r.phase IN ('copying', 'starting'))
            OR EXISTS (SELECT FROM volume_holds v WHERE v.deployment_id = d.id
                AND v.ended_at IS NULL)) THEN 'applying'
        ELSE d.status END)::text AS status, d.detail,
    d.changed_at, d.node_id, p.name AS project, e.name AS environment,
    coalesce(n.status, '')::text AS node_status,
    coalesce(n.since, d.changed_at)::timestamptz AS node_since
FROM (
    SELECT o.host, o.step, o.port, o.deployment_id FROM deployment_hosts o
    UNION ALL SELECT f.host, f.step, f.port, f.deployment_id FROM former_hosts f
        WHERE NOT EXISTS (SELECT FROM deployment_hosts o WHERE o.host = f.host)
) h
JOIN deployments d ON d.id = h.deployment_id
JOIN projects p ON p.id = d.project_id
JOIN environments e ON e.id = d.environment_id
LEFT JOIN nodes n ON n.id = d.node_id;

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION degraded_reason(deployment uuid) RETURNS text LANGUAGE sql STABLE AS $$
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
        AND NOT EXISTS (SELECT FROM volume_holds v WHERE v.deployment_id = d.id
            AND (v.ended_at IS NULL OR v.ended_at > now() - interval '5 minutes'))
$$;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION degraded_reason(deployment uuid) RETURNS text LANGUAGE sql STABLE AS $$
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
-- +goose StatementEnd

CREATE OR REPLACE VIEW route_rows AS
SELECT h.host, h.step, h.port, d.id AS deployment_id, d.name AS deployment,
    -- One whose volumes are copied will answer in a while, as one that is being made.
    (CASE WHEN EXISTS (SELECT FROM relocations r WHERE r.deployment_id = d.id
            AND r.phase IN ('copying', 'starting')) AND d.status = 'ready' THEN 'applying'
        ELSE d.status END)::text AS status, d.detail,
    d.changed_at, d.node_id, p.name AS project, e.name AS environment,
    coalesce(n.status, '')::text AS node_status,
    coalesce(n.since, d.changed_at)::timestamptz AS node_since
FROM (
    SELECT o.host, o.step, o.port, o.deployment_id FROM deployment_hosts o
    UNION ALL SELECT f.host, f.step, f.port, f.deployment_id FROM former_hosts f
        WHERE NOT EXISTS (SELECT FROM deployment_hosts o WHERE o.host = f.host)
) h
JOIN deployments d ON d.id = h.deployment_id
JOIN projects p ON p.id = d.project_id
JOIN environments e ON e.id = d.environment_id
LEFT JOIN nodes n ON n.id = d.node_id;

CREATE OR REPLACE VIEW node_goals AS
SELECT d.node_id, d.id AS deployment_id, d.want, false AS elsewhere,
    coalesce(r.phase IN ('copying', 'starting'), false)::boolean AS still
FROM deployments d LEFT JOIN relocations r ON r.deployment_id = d.id
WHERE d.node_id IS NOT NULL AND d.status NOT IN ('failed', 'canceled', 'removed', 'forgotten')
UNION ALL
SELECT r.node_id, r.deployment_id, CASE r.phase WHEN 'clearing' THEN 'gone' ELSE 'present' END,
    true, r.phase = 'copying'
FROM relocations r WHERE r.phase <> 'measuring';

ALTER TABLE relocations DROP COLUMN from_backup;
DROP TABLE volume_holds;
