-- What reactive nodes were asked before they got a deployment, and what they answered. An
-- offer that is open or claimed reserves what the deployment needs, until it expires.

-- +goose Up
CREATE TABLE offers (
    id         uuid PRIMARY KEY,
    node_id    uuid NOT NULL REFERENCES nodes ON DELETE CASCADE,
    -- The run that it is for. A request that waits for the answer has no run yet.
    run_id     uuid REFERENCES runs ON DELETE CASCADE,
    status     text NOT NULL DEFAULT 'open'
        CHECK (status IN ('open', 'claimed', 'declined', 'taken', 'withdrawn')),
    -- What the agent is told; no secrets.
    deployment jsonb NOT NULL CHECK (jsonb_typeof(deployment) = 'object'),
    cpu        double precision NOT NULL CHECK (cpu >= 0),
    memory_mib bigint NOT NULL CHECK (memory_mib >= 0),
    gpus       text[] NOT NULL DEFAULT '{}',
    vram_mib   bigint NOT NULL DEFAULT 0 CHECK (vram_mib >= 0),
    -- Why the node declined, in the words of its site.
    reason     text NOT NULL DEFAULT '',
    -- How often the node has declined this run, and when it may be asked again.
    declines   integer NOT NULL DEFAULT 0 CHECK (declines >= 0),
    ask_after  timestamptz,
    changed_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    UNIQUE (run_id, node_id)
);
-- A run is offered to one node at a time.
CREATE UNIQUE INDEX offers_pending_run ON offers (run_id) WHERE status IN ('open', 'claimed');
CREATE INDEX offers_pending_node ON offers (node_id) WHERE status IN ('open', 'claimed');
CREATE INDEX offers_without_run ON offers (expires_at) WHERE run_id IS NULL;

-- +goose Down
DROP TABLE offers;
