-- The key that signs verdicts can be changed; what was signed before stays verifiable.

-- +goose Up
-- Public keys that signed verdicts. Their private keys are gone.
CREATE TABLE former_verdict_keys (
    public_key text PRIMARY KEY,
    created_at timestamptz NOT NULL,
    ended_at   timestamptz NOT NULL
);

-- +goose Down
DROP TABLE former_verdict_keys;
