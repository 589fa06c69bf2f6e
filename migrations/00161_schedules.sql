-- Rules that deploy a branch at set times, and rules for Bitbucket.

-- +goose Up
ALTER TABLE review_rules DROP CONSTRAINT review_rules_source_check;
ALTER TABLE review_rules ADD CONSTRAINT review_rules_source_check
    CHECK (source IN ('github', 'gitlab', 'gitea', 'bitbucket', 'generic', 'registry', 'schedule'));
ALTER TABLE review_rules
    ADD COLUMN schedule jsonb NOT NULL DEFAULT '{}',
    -- When it deploys next; nothing once its schedule has ended.
    ADD COLUMN next_run_at timestamptz;
CREATE INDEX review_rules_next_run ON review_rules (next_run_at) WHERE next_run_at IS NOT NULL;
-- How long a deployment lives without activity, in place of what its project or environment says.
ALTER TABLE deployment_lives ADD COLUMN lifetime_hours integer CHECK (lifetime_hours > 0);

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
    ELSE coalesce(l.lifetime_hours, p.cleanup_after_hours, e.cleanup_after_hours) END AS hours) rule
WHERE d.want = 'present' AND d.status NOT IN ('canceled', 'removed', 'forgotten')
    AND rule.hours > 0;

-- +goose Down
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

ALTER TABLE deployment_lives DROP COLUMN lifetime_hours;
DROP INDEX review_rules_next_run;
ALTER TABLE review_rules DROP COLUMN next_run_at, DROP COLUMN schedule;
DELETE FROM review_rules WHERE source IN ('bitbucket', 'schedule');
ALTER TABLE review_rules DROP CONSTRAINT review_rules_source_check;
ALTER TABLE review_rules ADD CONSTRAINT review_rules_source_check
    CHECK (source IN ('github', 'gitlab', 'gitea', 'generic', 'registry'));
