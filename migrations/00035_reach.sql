-- +goose Up

-- How people get into services: a ticket is asked for over the API and shown once
-- in the first frame of a connection. Only its digest is here, and only for half
-- a minute; using it deletes it, so that it cannot be shown twice.
CREATE TABLE reach_tickets (
    digest        bytea PRIMARY KEY,
    user_id       uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    -- The session it was asked for in; empty for an API token.
    session       text NOT NULL DEFAULT '',
    deployment_id uuid NOT NULL REFERENCES deployments (id) ON DELETE CASCADE,
    step          text NOT NULL,
    kind          text NOT NULL CHECK (kind IN ('terminal', 'forward')),
    port          integer NOT NULL DEFAULT 0 CHECK (port BETWEEN 0 AND 65535),
    expires_at    timestamptz NOT NULL
);
CREATE INDEX reach_tickets_expires ON reach_tickets (expires_at);

-- +goose Down
DROP TABLE reach_tickets;
