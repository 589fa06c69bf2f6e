-- A deployment of a draft is made to look at and then forgotten: an hour without use ends it,
-- whatever its project and its environment allow.

-- +goose Up
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

-- +goose Down
CREATE OR REPLACE VIEW deployment_expiries AS
SELECT d.id, coalesce(p.cleanup_after_hours, e.cleanup_after_hours) AS hours,
    l.noticed_hours, l.noticed_for,
    CASE WHEN l.hold_since IS NOT NULL AND l.hold_until IS NULL THEN NULL
        ELSE greatest(d.active_at + make_interval(
            hours => coalesce(p.cleanup_after_hours, e.cleanup_after_hours)), l.hold_until)
    END AS expires_at
FROM deployments d
JOIN projects p ON p.id = d.project_id
JOIN environments e ON e.id = d.environment_id
LEFT JOIN deployment_lives l ON l.deployment_id = d.id
WHERE d.want = 'present' AND d.status NOT IN ('canceled', 'removed', 'forgotten')
    AND coalesce(p.cleanup_after_hours, e.cleanup_after_hours) > 0;
