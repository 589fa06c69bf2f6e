-- One provisioning token enrols many machines. Only its hash is stored; the prefix, which is no
-- secret, finds it. A machine that enrols gets a node, and a token of its own for that node.

-- +goose Up
CREATE TABLE provisioning_tokens (
    prefix         text PRIMARY KEY CHECK (prefix ~ '^[0-9a-z]{8}$'),
    hash           bytea NOT NULL CHECK (length(hash) = 32),
    description    text NOT NULL DEFAULT '' CHECK (length(description) <= 200),
    environment_id uuid NOT NULL REFERENCES environments ON DELETE CASCADE,
    -- No foreign key: a token that is used up must not keep a template. A missing one is refused.
    template       text,
    settings       jsonb NOT NULL CHECK (jsonb_typeof(settings) = 'object'),
    name_pattern   text NOT NULL CHECK (length(name_pattern) BETWEEN 1 AND 60),
    max_uses       integer NOT NULL CHECK (max_uses BETWEEN 1 AND 10000),
    uses           integer NOT NULL DEFAULT 0 CHECK (uses BETWEEN 0 AND max_uses),
    created_by     text NOT NULL,
    created_at     timestamptz NOT NULL,
    expires_at     timestamptz NOT NULL,
    last_used_at   timestamptz,
    revoked_at     timestamptz
);
CREATE INDEX provisioning_tokens_environment ON provisioning_tokens (environment_id);

-- Which key enrolled as which node. A machine whose answer was lost asks again with the same key.
CREATE TABLE node_enrolments (
    node_id    uuid PRIMARY KEY REFERENCES nodes ON DELETE CASCADE,
    token      text NOT NULL REFERENCES provisioning_tokens ON DELETE CASCADE,
    public_key bytea NOT NULL UNIQUE CHECK (length(public_key) = 32),
    at         timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX node_enrolments_token ON node_enrolments (token);

-- +goose Down
DROP TABLE node_enrolments, provisioning_tokens;
