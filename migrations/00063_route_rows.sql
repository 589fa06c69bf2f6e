-- What the ingress answers for, host by host. A view, since all of it is read now and
-- then, and in between only what a wake-up is about.

-- +goose Up
CREATE VIEW route_rows AS
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

-- +goose Down
DROP VIEW route_rows;
