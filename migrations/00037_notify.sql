-- +goose Up
-- What leaves the control plane by itself: webhooks, chat messages and mail.
-- Addresses and signing keys are sealed, since the address of a chat's hook is
-- a password in itself.
CREATE TABLE outward_secrets (
    id    text PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 200),
    value bytea NOT NULL
);

CREATE TABLE webhooks (
    id          uuid PRIMARY KEY,
    name        text NOT NULL UNIQUE CHECK (name ~ '^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$'),
    kind        text NOT NULL CHECK (kind IN ('json', 'slack', 'mattermost', 'teams')),
    -- Where it leads, without the parts that may be secret.
    host        text NOT NULL CHECK (length(host) BETWEEN 1 AND 300),
    project     text NOT NULL DEFAULT '',
    environment text NOT NULL DEFAULT '',
    events      text[] NOT NULL,
    template    text NOT NULL DEFAULT '' CHECK (length(template) <= 2000),
    active      boolean NOT NULL DEFAULT true,
    created_by  text NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now()
);

-- What people want to hear of by mail. An empty project is every one they may
-- see.
CREATE TABLE notification_choices (
    user_id     uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    position    integer NOT NULL,
    email       text NOT NULL CHECK (length(email) BETWEEN 3 AND 254),
    project     text NOT NULL DEFAULT '',
    environment text NOT NULL DEFAULT '',
    events      text[] NOT NULL,
    mine        boolean NOT NULL DEFAULT false,
    PRIMARY KEY (user_id, position)
);

-- The outbox: written by triggers in the transaction of the change itself, so
-- that no change goes untold and none is told that did not happen. Whoever
-- turns a notice into deliveries deletes it.
CREATE TABLE notices (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at            timestamptz NOT NULL DEFAULT now(),
    event         text NOT NULL,
    deployment_id uuid REFERENCES deployments ON DELETE CASCADE,
    node_id       uuid REFERENCES nodes ON DELETE CASCADE,
    data          jsonb NOT NULL DEFAULT '{}'
);

-- The delivery log, and the queue: a row is claimed before it is sent, so that
-- two control planes do not both send it.
CREATE TABLE deliveries (
    id            uuid PRIMARY KEY,
    webhook_id    uuid REFERENCES webhooks ON DELETE CASCADE,
    user_id       uuid REFERENCES users ON DELETE CASCADE,
    email         text NOT NULL DEFAULT '',
    event         text NOT NULL,
    subject       text NOT NULL DEFAULT '',
    body          text NOT NULL CHECK (length(body) <= 100000),
    status        text NOT NULL DEFAULT 'waiting' CHECK (status IN ('waiting', 'sent', 'failed')),
    attempts      integer NOT NULL DEFAULT 0,
    due_at        timestamptz NOT NULL DEFAULT now(),
    claimed_until timestamptz,
    answer        integer NOT NULL DEFAULT 0,
    error         text NOT NULL DEFAULT '',
    created_at    timestamptz NOT NULL DEFAULT now(),
    ended_at      timestamptz,
    CHECK ((webhook_id IS NULL) <> (user_id IS NULL))
);
CREATE INDEX deliveries_due ON deliveries (due_at) WHERE status = 'waiting';
CREATE INDEX deliveries_webhook ON deliveries (webhook_id, id DESC);
CREATE INDEX deliveries_user ON deliveries (user_id) WHERE user_id IS NOT NULL;
CREATE INDEX deliveries_ended ON deliveries (ended_at) WHERE ended_at IS NOT NULL;

-- +goose StatementBegin
CREATE FUNCTION notice_of_deployment() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO notices (event, deployment_id) VALUES ('deployment.created', NEW.id);
    ELSIF OLD.status <> NEW.status AND NEW.status IN
        ('ready', 'failed', 'canceled', 'removed', 'stuck', 'forgotten') THEN
        INSERT INTO notices (event, deployment_id)
        VALUES ('deployment.' || NEW.status, NEW.id);
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION notice_of_expiry() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO notices (event, deployment_id, data)
    VALUES ('deployment.expiring', NEW.deployment_id, NEW.data);
    RETURN NULL;
END $$;

CREATE FUNCTION notice_of_node() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO notices (event, node_id) VALUES ('node.' || NEW.status, NEW.id);
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER deployments_notice AFTER INSERT OR UPDATE OF status ON deployments
    FOR EACH ROW EXECUTE FUNCTION notice_of_deployment();
CREATE TRIGGER deployment_events_notice AFTER INSERT ON deployment_events
    FOR EACH ROW WHEN (NEW.kind = 'expiring') EXECUTE FUNCTION notice_of_expiry();
CREATE TRIGGER nodes_notice AFTER UPDATE OF status ON nodes
    FOR EACH ROW WHEN (OLD.status <> NEW.status AND NEW.status IN
        ('online', 'offline', 'untrusted', 'incompatible'))
    EXECUTE FUNCTION notice_of_node();

-- +goose Down
DROP TRIGGER nodes_notice ON nodes;
DROP TRIGGER deployment_events_notice ON deployment_events;
DROP TRIGGER deployments_notice ON deployments;
DROP FUNCTION notice_of_node();
DROP FUNCTION notice_of_expiry();
DROP FUNCTION notice_of_deployment();
DROP TABLE deliveries, notices, notification_choices, webhooks, outward_secrets;
