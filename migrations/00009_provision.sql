-- How the control plane gets onto a machine by itself to make it a node: over
-- SSH. The credential is sealed, and can be forgotten once the node is up. Each
-- try is an attempt of its own, with what each of its steps said.

-- +goose Up
CREATE TABLE node_ssh (
    node_id    uuid PRIMARY KEY REFERENCES nodes ON DELETE CASCADE,
    host       text NOT NULL CHECK (length(host) BETWEEN 1 AND 253),
    port       integer NOT NULL CHECK (port BETWEEN 1 AND 65535),
    username   text NOT NULL CHECK (length(username) BETWEEN 1 AND 64),
    -- The fingerprint of the only host key that may answer, as ssh-keygen spells it.
    host_key   text NOT NULL CHECK (host_key ~ '^SHA256:[A-Za-z0-9+/]{43}$'),
    -- Empty once it was forgotten.
    credential bytea,
    forget     boolean NOT NULL DEFAULT false,
    plan       jsonb NOT NULL
);

CREATE TABLE provision_attempts (
    node_id     uuid NOT NULL REFERENCES nodes ON DELETE CASCADE,
    number      integer NOT NULL CHECK (number >= 1),
    state       text NOT NULL DEFAULT 'pending' CHECK (state IN
        ('pending', 'provisioning', 'ready', 'error')),
    code        text NOT NULL DEFAULT '',
    message     text NOT NULL DEFAULT '',
    remedy      text NOT NULL DEFAULT '',
    started_by  text NOT NULL,
    -- Who works on it, and until when it counts as alive.
    holder      text NOT NULL DEFAULT '',
    lease_until timestamptz,
    created_at  timestamptz NOT NULL DEFAULT now(),
    started_at  timestamptz,
    ended_at    timestamptz,
    PRIMARY KEY (node_id, number),
    CHECK ((state IN ('ready', 'error')) = (ended_at IS NOT NULL)),
    CHECK (state <> 'provisioning' OR lease_until IS NOT NULL)
);
CREATE UNIQUE INDEX provision_attempts_open ON provision_attempts (node_id)
    WHERE state IN ('pending', 'provisioning');

CREATE TABLE provision_steps (
    node_id    uuid NOT NULL,
    number     integer NOT NULL,
    seq        integer NOT NULL CHECK (seq >= 1),
    key        text NOT NULL CHECK (key ~ '^[a-z_]{1,40}$'),
    status     text NOT NULL DEFAULT 'running' CHECK (status IN ('running', 'done', 'failed')),
    output     text NOT NULL DEFAULT '' CHECK (octet_length(output) <= 65536),
    started_at timestamptz NOT NULL DEFAULT now(),
    ended_at   timestamptz,
    PRIMARY KEY (node_id, number, seq),
    FOREIGN KEY (node_id, number) REFERENCES provision_attempts ON DELETE CASCADE,
    CHECK ((status = 'running') = (ended_at IS NULL))
);

-- The transition table of controlplane.ProvisionState; a test compares the two.
-- +goose StatementBegin
CREATE FUNCTION provision_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.state = NEW.state OR (OLD.state || '>' || NEW.state) IN (
        'pending>provisioning', 'pending>error', 'provisioning>ready', 'provisioning>error'
    ) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'an attempt cannot go from % to %', OLD.state, NEW.state
        USING ERRCODE = 'check_violation';
END $$;
-- +goose StatementEnd
CREATE TRIGGER provision_attempts_state BEFORE UPDATE OF state ON provision_attempts
    FOR EACH ROW EXECUTE FUNCTION provision_guard();

-- +goose Down
DROP TABLE provision_steps, provision_attempts, node_ssh;
DROP FUNCTION provision_guard();
