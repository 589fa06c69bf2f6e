-- Programs that sign in with the help of a person's browser, as RFC 8628 has it. Of the secret that
-- the program polls with, only a hash is stored.

-- +goose Up
CREATE TABLE device_logins (
    id         uuid PRIMARY KEY,
    hash       bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
    -- What the person compares, without its hyphen.
    code       text NOT NULL UNIQUE CHECK (length(code) = 8),
    name       text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
    address    text NOT NULL,
    scope      text NOT NULL CHECK (scope IN ('full', 'read')),
    days       integer NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    -- Polls sooner than this many seconds after the last one are refused, and have it grow.
    pause      integer NOT NULL DEFAULT 5,
    polled_at  timestamptz,
    state      text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'approved', 'denied')),
    user_id    uuid REFERENCES users ON DELETE CASCADE
);
CREATE INDEX device_logins_expires ON device_logins (expires_at);
CREATE INDEX device_logins_user ON device_logins (user_id);

-- +goose Down
DROP TABLE device_logins;
