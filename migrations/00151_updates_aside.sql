-- An update of a review may be prepared beside the deployment that runs. When it is ready, it gets
-- the name and the hosts of the older one, which answers under another name for a while.

-- +goose Up
ALTER TABLE review_rules
    ADD COLUMN updates text NOT NULL DEFAULT 'aside' CHECK (updates IN ('aside', 'replace'));
ALTER TABLE reviews
    -- What is prepared beside deployment_id.
    ADD COLUMN next_id uuid REFERENCES deployments ON DELETE SET NULL,
    -- What people should know of the last update, beside the state.
    ADD COLUMN remark text NOT NULL DEFAULT '' CHECK (length(remark) <= 500);
CREATE INDEX reviews_next_id ON reviews (next_id) WHERE next_id IS NOT NULL;
ALTER TABLE deployment_lives
    -- The name that its services were told, whatever its own is; empty is its own.
    ADD COLUMN known_as text NOT NULL DEFAULT '',
    -- Which deployment has its hosts now, and since when.
    ADD COLUMN successor_id uuid REFERENCES deployments ON DELETE SET NULL,
    ADD COLUMN replaced_at timestamptz;
CREATE INDEX deployment_lives_successor ON deployment_lives (successor_id)
    WHERE successor_id IS NOT NULL;

CREATE OR REPLACE VIEW deployment_expiries AS
SELECT d.id, rule.hours, l.noticed_hours, l.noticed_for,
    CASE WHEN l.hold_since IS NOT NULL AND l.hold_until IS NULL THEN NULL
        WHEN l.replaced_at IS NOT NULL
            THEN greatest(l.replaced_at + interval '30 minutes', l.hold_until)
        ELSE greatest(d.active_at + make_interval(hours => rule.hours), l.hold_until)
    END AS expires_at
FROM deployments d
JOIN projects p ON p.id = d.project_id
JOIN environments e ON e.id = d.environment_id
LEFT JOIN deployment_lives l ON l.deployment_id = d.id
CROSS JOIN LATERAL (SELECT CASE WHEN l.scratch OR l.replaced_at IS NOT NULL THEN 1
    ELSE coalesce(p.cleanup_after_hours, e.cleanup_after_hours) END AS hours) rule
WHERE d.want = 'present' AND d.status NOT IN ('canceled', 'removed', 'forgotten')
    AND rule.hours > 0;

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

-- +goose Down
DROP VIEW route_rows;
CREATE VIEW route_rows AS
SELECT h.host, h.step, h.port, d.id AS deployment_id, d.name AS deployment,
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

CREATE OR REPLACE VIEW deployment_expiries AS
SELECT d.id, rule.hours, l.noticed_hours, l.noticed_for,
    CASE WHEN l.hold_since IS NOT NULL AND l.hold_until IS NULL THEN NULL
        ELSE greatest(d.active_at + make_interval(hours => rule.hours), l.hold_until)
    END AS expires_at
FROM deployments d
JOIN projects p ON p.id = d.project_id
JOIN environments e ON e.id = d.environment_id
LEFT JOIN deployment_lives l ON l.deployment_id = d.id
CROSS JOIN LATERAL (SELECT CASE WHEN l.scratch THEN 1
    ELSE coalesce(p.cleanup_after_hours, e.cleanup_after_hours) END AS hours) rule
WHERE d.want = 'present' AND d.status NOT IN ('canceled', 'removed', 'forgotten')
    AND rule.hours > 0;

DROP INDEX deployment_lives_successor;
ALTER TABLE deployment_lives DROP COLUMN replaced_at, DROP COLUMN successor_id,
    DROP COLUMN known_as;
ALTER TABLE reviews DROP COLUMN remark, DROP COLUMN next_id;
ALTER TABLE review_rules DROP COLUMN updates;
