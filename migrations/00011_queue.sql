-- Each run's way through the queue: it waits for room on any node of its
-- environment, or for a free run on its own; then it starts, and ends. What has
-- left the queue stays as history.

-- +goose Up
CREATE TABLE queue (
    run_id        uuid PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
    deployment_id uuid NOT NULL REFERENCES deployments (id) ON DELETE CASCADE,
    -- Whose queue: the node's, or the environment's while there is no node.
    scope         uuid NOT NULL,
    priority      smallint NOT NULL DEFAULT 128 CHECK (priority BETWEEN 0 AND 255),
    wait          boolean NOT NULL DEFAULT false,
    -- What was asked for, as placement needs it.
    ask           jsonb NOT NULL DEFAULT '{}',
    -- Lower turns come first. They grow more slowly for a better priority.
    turn          double precision NOT NULL DEFAULT 0 CHECK (turn >= 0),
    position      integer NOT NULL DEFAULT 0 CHECK (position >= 0),
    reason        text NOT NULL DEFAULT '',
    queued_at     timestamptz NOT NULL DEFAULT now(),
    deadline      timestamptz,
    started_at    timestamptz,
    -- Set when it started, was canceled, or waited too long.
    left_at       timestamptz,
    -- How often a node was told to do it.
    attempts      integer NOT NULL DEFAULT 0,
    CHECK (started_at IS NULL OR left_at IS NOT NULL)
);
CREATE INDEX queue_deployment ON queue (deployment_id);
CREATE INDEX queue_waiting ON queue (scope, turn) WHERE left_at IS NULL;

-- How far each queue has come: the highest turn that was ever started. Who
-- comes later queues behind it, so nobody is overtaken for ever.
CREATE TABLE queue_clock (
    scope uuid PRIMARY KEY,
    turn  double precision NOT NULL CHECK (turn >= 0)
);

INSERT INTO queue (run_id, deployment_id, scope, queued_at, started_at, left_at, attempts)
SELECT r.id, r.deployment_id, coalesce(d.node_id, d.environment_id), r.created_at, r.created_at,
    r.created_at, 1
FROM runs r JOIN deployments d ON d.id = r.deployment_id;

-- A deployment that waits for room has no node yet.
ALTER TABLE deployments DROP CONSTRAINT deployments_check;
ALTER TABLE deployments ADD CONSTRAINT deployments_placed CHECK (node_id IS NOT NULL
    OR status IN ('queued', 'failed', 'canceled', 'removed', 'forgotten'));

-- +goose Down
-- What waits without a node has nowhere to be.
UPDATE deployments SET status = 'canceled' WHERE status = 'queued' AND node_id IS NULL;
ALTER TABLE deployments DROP CONSTRAINT deployments_placed;
ALTER TABLE deployments ADD CONSTRAINT deployments_check CHECK (node_id IS NOT NULL
    OR status IN ('failed', 'canceled', 'removed', 'forgotten'));
DROP TABLE queue_clock, queue;
