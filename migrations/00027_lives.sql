-- What people did to a deployment's life: where it came from, who holds it, who
-- removed it, which notices were given, and each thing that reset its countdown.

-- +goose Up
CREATE TABLE deployment_lives (
    deployment_id uuid PRIMARY KEY REFERENCES deployments ON DELETE CASCADE,
    -- The one it was cloned from may be forgotten; its name stays.
    cloned_from   uuid,
    cloned_name   text NOT NULL DEFAULT '',
    hold_owner    text NOT NULL DEFAULT '',
    hold_reason   text NOT NULL DEFAULT '' CHECK (length(hold_reason) <= 500),
    hold_since    timestamptz,
    hold_until    timestamptz,
    removed_by    text NOT NULL DEFAULT '',
    removed_at    timestamptz,
    -- The last notice: how many hours ahead of which end.
    noticed_hours integer NOT NULL DEFAULT 0,
    noticed_for   timestamptz,
    CHECK ((hold_owner = '') = (hold_since IS NULL)),
    CHECK ((removed_by = '') = (removed_at IS NULL))
);

CREATE TABLE deployment_activity (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    deployment_id uuid NOT NULL REFERENCES deployments ON DELETE CASCADE,
    at            timestamptz NOT NULL DEFAULT now(),
    kind          text NOT NULL CHECK (kind IN ('created', 'retried', 'extended', 'visited', 'moved')),
    by_name       text NOT NULL
);
CREATE INDEX deployment_activity_deployment ON deployment_activity (deployment_id, id);
INSERT INTO deployment_activity (deployment_id, at, kind, by_name)
SELECT id, created_at, 'created', created_by FROM deployments;

-- When each deployment with a cleanup rule ends by itself. One that is held for
-- as long as somebody wants has no end.
CREATE VIEW deployment_expiries AS
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

ALTER TABLE deployment_events DROP CONSTRAINT deployment_events_kind_check;
ALTER TABLE deployment_events ADD CONSTRAINT deployment_events_kind_check
    CHECK (kind IN ('deployment', 'step', 'health', 'expiring'));

-- +goose Down
DELETE FROM deployment_events WHERE kind = 'expiring';
ALTER TABLE deployment_events DROP CONSTRAINT deployment_events_kind_check;
ALTER TABLE deployment_events ADD CONSTRAINT deployment_events_kind_check
    CHECK (kind IN ('deployment', 'step', 'health'));
DROP VIEW deployment_expiries;
DROP TABLE deployment_activity, deployment_lives;
