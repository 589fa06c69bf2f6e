-- +goose Up
-- How people come in besides typing a name and a password: by an invitation to
-- an address, by a one-time link of an admin's, or vouched for by an OpenID
-- provider. Service users are programs: they have tokens and nothing else.
ALTER TABLE users
    ADD COLUMN kind    text NOT NULL DEFAULT 'person' CHECK (kind IN ('person', 'service')),
    ADD COLUMN address text NOT NULL DEFAULT '' CHECK (length(address) <= 254),
    ADD COLUMN issuer  text CHECK (length(issuer) BETWEEN 1 AND 500),
    ADD COLUMN subject text CHECK (length(subject) BETWEEN 1 AND 500),
    ALTER COLUMN password_hash DROP NOT NULL,
    ADD CONSTRAINT users_service_password CHECK (kind = 'person' OR password_hash IS NULL),
    ADD CONSTRAINT users_identity CHECK ((issuer IS NULL) = (subject IS NULL)),
    ADD CONSTRAINT users_identity_once UNIQUE (issuer, subject);
CREATE UNIQUE INDEX users_address ON users (lower(address)) WHERE address <> '';

-- Links that work once. Only SHA-256 of what is behind the # is stored; a used
-- link is a deleted row.
CREATE TABLE links (
    id         uuid PRIMARY KEY,
    kind       text NOT NULL CHECK (kind IN ('invitation', 'reset')),
    hash       bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
    user_id    uuid REFERENCES users ON DELETE CASCADE,
    address    text NOT NULL DEFAULT '' CHECK (length(address) <= 254),
    role       text NOT NULL DEFAULT 'user' CHECK (role IN ('admin', 'user')),
    teams      text[] NOT NULL DEFAULT '{}',
    created_by text NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    CHECK ((kind = 'reset') = (user_id IS NOT NULL)),
    CHECK ((kind = 'invitation') = (address <> ''))
);
CREATE UNIQUE INDEX links_user ON links (user_id);
CREATE UNIQUE INDEX links_address ON links (lower(address)) WHERE kind = 'invitation';

-- +goose Down
DROP TABLE links;
-- Who has no password cannot come in any more; the hash is of nothing.
UPDATE users SET active = false, password_hash = '$argon2id$v=19$m=65536,t=3,p=4$AAAA$AAAA'
    WHERE password_hash IS NULL;
DROP INDEX users_address;
ALTER TABLE users
    DROP CONSTRAINT users_service_password, DROP CONSTRAINT users_identity,
    DROP CONSTRAINT users_identity_once,
    DROP COLUMN kind, DROP COLUMN address, DROP COLUMN issuer, DROP COLUMN subject,
    ALTER COLUMN password_hash SET NOT NULL;
