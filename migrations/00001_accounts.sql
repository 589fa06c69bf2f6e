-- Who may come in, and the record of what everybody did: people, their
-- sessions and tokens, teams, and the journal that every change writes into.
-- Secrets are here only as hashes.

-- +goose Up
CREATE TABLE users (
    id              uuid PRIMARY KEY,
    name            text NOT NULL UNIQUE CHECK (name ~ '^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$'),
    display_name    text NOT NULL DEFAULT '',
    role            text NOT NULL CHECK (role IN ('admin', 'user')),
    active          boolean NOT NULL DEFAULT true,
    password_hash   text NOT NULL CHECK (password_hash LIKE '$argon2id$%'),
    created_at      timestamptz NOT NULL DEFAULT now(),
    last_sign_in_at timestamptz
);

-- Only SHA-256 of the session id is stored: reading the table signs nobody in.
CREATE TABLE sessions (
    id           uuid PRIMARY KEY,
    user_id      uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    hash         bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
    created_at   timestamptz NOT NULL,
    last_used_at timestamptz NOT NULL,
    expires_at   timestamptz NOT NULL
);
CREATE INDEX sessions_user ON sessions (user_id);

CREATE TABLE api_tokens (
    id           uuid PRIMARY KEY,
    user_id      uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    name         text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
    prefix       text NOT NULL UNIQUE,
    hash         bytea NOT NULL CHECK (length(hash) = 32),
    created_at   timestamptz NOT NULL,
    last_used_at timestamptz
);
CREATE INDEX api_tokens_user ON api_tokens (user_id);

CREATE TABLE teams (
    id          uuid PRIMARY KEY,
    name        text NOT NULL UNIQUE CHECK (name ~ '^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$'),
    description text NOT NULL DEFAULT ''
);

CREATE TABLE memberships (
    team_id uuid NOT NULL REFERENCES teams ON DELETE CASCADE,
    user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    PRIMARY KEY (team_id, user_id)
);
CREATE INDEX memberships_user ON memberships (user_id);

-- Who did what to what, from where, and how it ended. Names, not keys: an
-- entry outlives what it speaks of.
CREATE TABLE audit (
    id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at             timestamptz NOT NULL DEFAULT now(),
    actor          text NOT NULL,
    actor_id       uuid,
    action         text NOT NULL,
    object         text NOT NULL,
    project_id     uuid,
    environment_id uuid,
    origin         text NOT NULL DEFAULT '',
    request_id     text NOT NULL DEFAULT '',
    result         text NOT NULL CHECK (result IN ('ok', 'refused', 'failed')),
    detail         text NOT NULL DEFAULT ''
);
CREATE INDEX audit_at ON audit (at);

-- The answer to a create that was sent before, kept for a day.
CREATE TABLE idempotency_keys (
    user_id    uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    operation  text NOT NULL,
    key        text NOT NULL CHECK (length(key) BETWEEN 1 AND 200),
    request    bytea NOT NULL CHECK (length(request) = 32),
    object_id  uuid NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, operation, key)
);

-- +goose StatementBegin
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% rows never change', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END $$;
-- +goose StatementEnd
CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE ON audit
    FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER audit_not_truncated BEFORE TRUNCATE ON audit
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- +goose Down
DROP TABLE idempotency_keys, audit, memberships, teams, api_tokens, sessions, users;
DROP FUNCTION refuse_change();
