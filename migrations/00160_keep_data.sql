-- Updates that begin with what is in the volumes of the deployment that runs: it is stopped, its
-- volumes are copied, and the update starts with them. It runs again if the update fails.

-- +goose Up
ALTER TABLE review_rules
    ADD COLUMN data text NOT NULL DEFAULT 'fresh' CHECK (data IN ('fresh', 'keep'));
ALTER TABLE deployment_lives
    -- Whose volumes it begins with.
    ADD COLUMN data_from uuid REFERENCES deployments ON DELETE SET NULL,
    -- What was in its volumes went to its successor: visitors do not stay here, since nobody
    -- would see again what they write.
    ADD COLUMN data_moved boolean NOT NULL DEFAULT false;
CREATE INDEX deployment_lives_data_from ON deployment_lives (data_from)
    WHERE data_from IS NOT NULL;
ALTER TABLE volume_holds DROP CONSTRAINT volume_holds_purpose_check;
ALTER TABLE volume_holds ADD CONSTRAINT volume_holds_purpose_check
    -- An update waits to be filled; its source stands still, and is held by the update.
    CHECK (purpose IN ('backup', 'restore', 'fill', 'source'));

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
    coalesce(n.since, d.changed_at)::timestamptz AS node_since,
    coalesce(l.known_as, '')::text AS known_as,
    -- The deployments that had this host before, and where the same service of each answers now.
    coalesce((SELECT jsonb_agg(jsonb_build_object('deployment', f.deployment_id,
            'host', x.host, 'until', f.replaced_at + interval '15 minutes')
            ORDER BY f.deployment_id)
        FROM deployment_lives f
        JOIN LATERAL (SELECT min(o.host) AS host FROM deployment_hosts o
            WHERE o.deployment_id = f.deployment_id AND o.step = h.step
                AND o.port_name = h.port_name) x ON x.host IS NOT NULL
        WHERE f.successor_id = d.id AND NOT f.data_moved)::text, '')::text AS formers
FROM (
    SELECT o.host, o.step, o.port, o.deployment_id, o.port_name FROM deployment_hosts o
    UNION ALL SELECT f.host, f.step, f.port, f.deployment_id, '' FROM former_hosts f
        WHERE NOT EXISTS (SELECT FROM deployment_hosts o WHERE o.host = f.host)
) h
JOIN deployments d ON d.id = h.deployment_id
JOIN projects p ON p.id = d.project_id
JOIN environments e ON e.id = d.environment_id
LEFT JOIN nodes n ON n.id = d.node_id
LEFT JOIN deployment_lives l ON l.deployment_id = d.id;

-- +goose Down
DELETE FROM volume_holds WHERE purpose IN ('fill', 'source');
ALTER TABLE volume_holds DROP CONSTRAINT volume_holds_purpose_check;
ALTER TABLE volume_holds ADD CONSTRAINT volume_holds_purpose_check
    CHECK (purpose IN ('backup', 'restore'));

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
    coalesce(n.since, d.changed_at)::timestamptz AS node_since,
    coalesce(l.known_as, '')::text AS known_as,
    -- The deployments that had this host before, and where the same service of each answers now.
    coalesce((SELECT jsonb_agg(jsonb_build_object('deployment', f.deployment_id,
            'host', x.host, 'until', f.replaced_at + interval '15 minutes')
            ORDER BY f.deployment_id)
        FROM deployment_lives f
        JOIN LATERAL (SELECT min(o.host) AS host FROM deployment_hosts o
            WHERE o.deployment_id = f.deployment_id AND o.step = h.step
                AND o.port_name = h.port_name) x ON x.host IS NOT NULL
        WHERE f.successor_id = d.id)::text, '')::text AS formers
FROM (
    SELECT o.host, o.step, o.port, o.deployment_id, o.port_name FROM deployment_hosts o
    UNION ALL SELECT f.host, f.step, f.port, f.deployment_id, '' FROM former_hosts f
        WHERE NOT EXISTS (SELECT FROM deployment_hosts o WHERE o.host = f.host)
) h
JOIN deployments d ON d.id = h.deployment_id
JOIN projects p ON p.id = d.project_id
JOIN environments e ON e.id = d.environment_id
LEFT JOIN nodes n ON n.id = d.node_id
LEFT JOIN deployment_lives l ON l.deployment_id = d.id;

DROP INDEX deployment_lives_data_from;
ALTER TABLE deployment_lives DROP COLUMN data_moved, DROP COLUMN data_from;
ALTER TABLE review_rules DROP COLUMN data;
