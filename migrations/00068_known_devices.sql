-- Browsers that a person signed in with. Such a browser has limits of its own
-- for wrong passwords, so that guesses from elsewhere do not keep its owner out.
-- +goose Up
CREATE TABLE known_devices (
    -- SHA-256 of the cookie's value, in hex: nothing that is sealed or rotated.
    hash text NOT NULL CHECK (hash ~ '^[0-9a-f]{64}$'),
    user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    used_at timestamptz NOT NULL,
    PRIMARY KEY (hash, user_id)
);
CREATE INDEX known_devices_user ON known_devices (user_id);
CREATE INDEX known_devices_used ON known_devices (used_at);

-- +goose Down
DROP TABLE known_devices;
