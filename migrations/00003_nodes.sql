-- The machines we know, what lets us in there, and who may command them: one
-- lease per node, whose epoch fences off a control plane that lost it.

-- +goose Up
CREATE TABLE nodes (
    id                  uuid PRIMARY KEY,
    name                text NOT NULL UNIQUE CHECK (name ~ '^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$'),
    environment_id      uuid NOT NULL REFERENCES environments,
    address             text NOT NULL UNIQUE,
    status              text NOT NULL DEFAULT 'enrolled' CHECK (status IN
        ('enrolled', 'online', 'offline', 'untrusted', 'incompatible', 'disabled')),
    detail              text NOT NULL DEFAULT '',
    since               timestamptz NOT NULL DEFAULT now(),
    thumbprint          text NOT NULL DEFAULT '' CHECK (thumbprint ~ '^([0-9a-f]{64})?$'),
    expected            text NOT NULL DEFAULT '' CHECK (expected ~ '^([0-9a-f]{64})?$'),
    pending             text NOT NULL DEFAULT '' CHECK (pending ~ '^([0-9a-f]{64})?$'),
    pending_proof_valid boolean NOT NULL DEFAULT false,
    build               text NOT NULL DEFAULT '',
    inventory           jsonb,
    vitals              jsonb,
    created_at          timestamptz NOT NULL DEFAULT now(),
    CHECK (status <> 'online' OR thumbprint <> ''),
    CHECK (pending <> '' OR NOT pending_proof_valid)
);
CREATE INDEX nodes_environment ON nodes (environment_id);

-- The token itself is nowhere; verifier is the key derived from it, sealed.
CREATE TABLE node_tokens (
    kid                text PRIMARY KEY CHECK (length(kid) BETWEEN 1 AND 40),
    node_id            uuid NOT NULL REFERENCES nodes ON DELETE CASCADE,
    verifier           bytea NOT NULL,
    created_at         timestamptz NOT NULL DEFAULT now(),
    revoked_at         timestamptz,
    revocation_pending boolean NOT NULL DEFAULT false,
    CHECK (revoked_at IS NOT NULL OR NOT revocation_pending)
);
CREATE UNIQUE INDEX node_tokens_active ON node_tokens (node_id) WHERE revoked_at IS NULL;
CREATE INDEX node_tokens_node ON node_tokens (node_id);

CREATE TABLE node_leases (
    node_id    uuid PRIMARY KEY REFERENCES nodes ON DELETE CASCADE,
    holder     text NOT NULL,
    epoch      bigint NOT NULL CHECK (epoch >= 1),
    expires_at timestamptz NOT NULL
);

-- The control plane's own client certificate and key, sealed. One row.
CREATE TABLE identity (
    one         boolean PRIMARY KEY DEFAULT true CHECK (one),
    certificate bytea NOT NULL,
    key         bytea NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now()
);

-- The transition table of controlplane.NodeStatus; a test compares the two.
-- +goose StatementBegin
CREATE FUNCTION nodes_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.status = NEW.status OR (OLD.status || '>' || NEW.status) IN (
        'enrolled>online', 'enrolled>offline', 'enrolled>untrusted',
        'enrolled>incompatible', 'enrolled>disabled',
        'online>enrolled', 'online>offline', 'online>untrusted',
        'online>incompatible', 'online>disabled',
        'offline>enrolled', 'offline>online', 'offline>untrusted',
        'offline>incompatible', 'offline>disabled',
        'incompatible>enrolled', 'incompatible>online', 'incompatible>offline',
        'incompatible>untrusted', 'incompatible>disabled',
        'untrusted>enrolled', 'untrusted>offline', 'untrusted>disabled',
        'disabled>enrolled', 'disabled>offline'
    ) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'a node cannot go from % to %', OLD.status, NEW.status
        USING ERRCODE = 'check_violation';
END $$;
-- +goose StatementEnd
CREATE TRIGGER nodes_status BEFORE UPDATE OF status ON nodes
    FOR EACH ROW EXECUTE FUNCTION nodes_guard();

-- +goose Down
DROP TABLE identity, node_leases, node_tokens, nodes;
DROP FUNCTION nodes_guard();
