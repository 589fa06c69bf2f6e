-- What people say of a node beyond on and off: a certificate they rejected, and
-- that it is being emptied. And what happened to each node, in order.

-- +goose Up
ALTER TABLE nodes
    -- Answering with this one again asks nobody again.
    ADD COLUMN rejected text NOT NULL DEFAULT '' CHECK (rejected ~ '^([0-9a-f]{64})?$'),
    ADD COLUMN drain text NOT NULL DEFAULT ''
        CHECK (drain IN ('', 'draining', 'overdue', 'drained')),
    ADD COLUMN drain_since timestamptz,
    ADD COLUMN drain_deadline timestamptz,
    ADD COLUMN drain_by text NOT NULL DEFAULT '',
    ADD CHECK ((drain = '') = (drain_since IS NULL));
CREATE INDEX nodes_draining ON nodes (id) WHERE drain IN ('draining', 'overdue');
-- Two machines with one certificate are a data folder that was copied.
CREATE INDEX nodes_thumbprint ON nodes (thumbprint) WHERE thumbprint <> '';

-- What happened to a node, for people and for the stream of the nodes' page. The
-- newest 200 of each node are kept. xact lets a reader go in commit order: it
-- stops at the oldest transaction that is still open.
CREATE TABLE node_events (
    id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    node_id uuid NOT NULL REFERENCES nodes ON DELETE CASCADE,
    at      timestamptz NOT NULL DEFAULT now(),
    kind    text NOT NULL CHECK (kind ~ '^[a-z_]{1,40}$'),
    detail  text NOT NULL DEFAULT '' CHECK (length(detail) <= 2000),
    xact    bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint
);
CREATE INDEX node_events_node ON node_events (node_id, id);
CREATE INDEX node_events_xact ON node_events (xact, id);

-- A node that was removed by force: what was left on it, and where it was.
CREATE TABLE forgotten_nodes (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name        text NOT NULL,
    environment text NOT NULL,
    address     text NOT NULL,
    thumbprint  text NOT NULL,
    forgotten_by text NOT NULL,
    forgotten_at timestamptz NOT NULL DEFAULT now(),
    left_behind jsonb NOT NULL
);

-- +goose StatementBegin
CREATE FUNCTION tell_of_node(node uuid, what text, why text) RETURNS void LANGUAGE sql AS $$
    INSERT INTO node_events (node_id, kind, detail) VALUES (node, what, left(why, 2000));
    DELETE FROM node_events e WHERE e.node_id = node AND e.id <= (SELECT o.id
        FROM node_events o WHERE o.node_id = node ORDER BY o.id DESC OFFSET 200 LIMIT 1);
$$;
-- +goose StatementEnd

-- Every change of state is an event, whoever makes it. The transitions of drain
-- are the table of controlplane.DrainStatus; a test compares the two.
-- +goose StatementBegin
CREATE FUNCTION nodes_tell() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        PERFORM tell_of_node(NEW.id, 'added', NEW.address);
        RETURN NULL;
    END IF;
    IF OLD.status <> NEW.status THEN
        PERFORM tell_of_node(NEW.id, NEW.status, NEW.detail);
    END IF;
    IF OLD.drain <> NEW.drain THEN
        IF (OLD.drain || '>' || NEW.drain) NOT IN (
            '>draining', 'draining>overdue', 'draining>drained', 'draining>',
            'overdue>draining', 'overdue>drained', 'overdue>', 'drained>'
        ) THEN
            RAISE EXCEPTION 'a drain cannot go from "%" to "%"', OLD.drain, NEW.drain
                USING ERRCODE = 'check_violation';
        END IF;
        PERFORM tell_of_node(NEW.id, CASE NEW.drain WHEN '' THEN 'drain_ended'
            ELSE NEW.drain END, CASE NEW.drain WHEN 'draining' THEN 'by ' || NEW.drain_by
            ELSE '' END);
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER nodes_told AFTER INSERT OR UPDATE OF status, drain ON nodes
    FOR EACH ROW EXECUTE FUNCTION nodes_tell();

-- +goose Down
DROP TRIGGER nodes_told ON nodes;
DROP FUNCTION nodes_tell();
DROP TABLE forgotten_nodes, node_events;
DROP FUNCTION tell_of_node(uuid, text, text);
ALTER TABLE nodes DROP COLUMN rejected, DROP COLUMN drain, DROP COLUMN drain_since,
    DROP COLUMN drain_deadline, DROP COLUMN drain_by;
DROP INDEX nodes_thumbprint;
