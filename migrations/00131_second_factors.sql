-- Second factors of people who sign in with a password here: passkeys, which need no password
-- at all, and authenticator apps, with recovery codes for the day they are lost. A session says
-- how it began, and when its owner last proved who they are.

-- +goose Up
CREATE TABLE second_factors (
    id            uuid PRIMARY KEY,
    user_id       uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    kind          text NOT NULL CHECK (kind IN ('passkey', 'totp')),
    name          text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
    -- An authenticator app counts once it has shown a code.
    confirmed     boolean NOT NULL,
    -- The sealed seed of an authenticator app, and the time step of the last code it was used
    -- with: a code is good once.
    seed          bytea,
    last_step     bigint NOT NULL DEFAULT 0,
    -- A passkey: its id in base64url, and its public key with what its authenticator said.
    credential_id text UNIQUE,
    passkey       jsonb,
    created_at    timestamptz NOT NULL,
    last_used_at  timestamptz,
    CHECK ((kind = 'totp') = (seed IS NOT NULL)),
    CHECK ((kind = 'passkey') = (credential_id IS NOT NULL AND passkey IS NOT NULL))
);
CREATE INDEX second_factors_user ON second_factors (user_id);

-- SHA-256 of 118 random bits, in hex: nothing that is sealed or rotated.
CREATE TABLE recovery_codes (
    user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    hash    text NOT NULL CHECK (hash ~ '^[0-9a-f]{64}$'),
    PRIMARY KEY (user_id, hash)
);

-- What an authenticator was asked to sign. Each is good for one answer.
CREATE TABLE passkey_challenges (
    hash       text PRIMARY KEY CHECK (hash ~ '^[0-9a-f]{64}$'),
    purpose    text NOT NULL CHECK (purpose IN ('add', 'sign in', 'step up')),
    user_id    uuid REFERENCES users (id) ON DELETE CASCADE,
    ceremony   jsonb NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE INDEX passkey_challenges_expire ON passkey_challenges (expires_at);
CREATE INDEX passkey_challenges_user ON passkey_challenges (user_id);

ALTER TABLE sessions
    ADD COLUMN method text NOT NULL DEFAULT 'password'
        CHECK (method IN ('password', 'passkey', 'provider')),
    ADD COLUMN confirmed_at timestamptz NOT NULL DEFAULT now();
-- Of a session that began before, only this is certain: without a password it was the provider.
UPDATE sessions s SET method = 'provider'
    FROM users u WHERE u.id = s.user_id AND u.password_hash IS NULL;

ALTER TABLE teams ADD COLUMN second_factor boolean NOT NULL DEFAULT false;

-- +goose Down
ALTER TABLE teams DROP COLUMN second_factor;
ALTER TABLE sessions DROP COLUMN method, DROP COLUMN confirmed_at;
DROP TABLE passkey_challenges, recovery_codes, second_factors;
