-- Deployments that go to another node together with what is in their volumes.
-- They stay what they are, and change their node once they are ready there.

-- +goose Up
CREATE TABLE relocations (
    deployment_id uuid PRIMARY KEY REFERENCES deployments ON DELETE CASCADE,
    -- The node beside the deployment's own: the one it goes to, and, once it is
    -- there, or will not be, the one that is cleared.
    node_id    uuid NOT NULL REFERENCES nodes ON DELETE CASCADE,
    phase      text NOT NULL DEFAULT 'measuring'
        CHECK (phase IN ('measuring', 'copying', 'starting', 'clearing')),
    by_name    text NOT NULL,
    since      timestamptz NOT NULL DEFAULT now(),
    -- The control plane that measures and copies, and when it last said so.
    holder     text NOT NULL DEFAULT '',
    seen_at    timestamptz NOT NULL DEFAULT now(),
    -- What all volumes take, in bytes, as measured before.
    bytes      bigint NOT NULL DEFAULT 0 CHECK (bytes >= 0)
);
CREATE INDEX relocations_node ON relocations (node_id);

-- What each node should have: its own deployments, and those that are elsewhere.
CREATE VIEW node_goals AS
SELECT d.node_id, d.id AS deployment_id, d.want, false AS elsewhere,
    coalesce(r.phase IN ('copying', 'starting'), false)::boolean AS still
FROM deployments d LEFT JOIN relocations r ON r.deployment_id = d.id
WHERE d.node_id IS NOT NULL AND d.status NOT IN ('failed', 'canceled', 'removed', 'forgotten')
UNION ALL
SELECT r.node_id, r.deployment_id, CASE r.phase WHEN 'clearing' THEN 'gone' ELSE 'present' END,
    true, r.phase = 'copying'
FROM relocations r WHERE r.phase <> 'measuring';

-- +goose Down
DROP VIEW node_goals;
DROP TABLE relocations;
