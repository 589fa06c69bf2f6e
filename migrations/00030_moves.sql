-- A deployment that goes to another node: what is made there once it is gone
-- here, and what was made.

-- +goose Up
ALTER TABLE deployment_lives
    ADD COLUMN move jsonb,
    ADD COLUMN moving_since timestamptz,
    ADD COLUMN moved_to uuid,
    ADD CHECK (moving_since IS NULL OR move IS NOT NULL);
CREATE INDEX deployment_lives_moving ON deployment_lives (deployment_id)
    WHERE moving_since IS NOT NULL;

-- +goose Down
DROP INDEX deployment_lives_moving;
ALTER TABLE deployment_lives DROP COLUMN moved_to, DROP COLUMN moving_since, DROP COLUMN move;
