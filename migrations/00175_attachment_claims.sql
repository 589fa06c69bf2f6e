-- One process at a time attaches to an image: where a registry has no API for what is attached, an
-- index is read and written again, and of two at once the first would be lost.

-- +goose Up
ALTER TABLE verdict_images ADD COLUMN claimed_until timestamptz;

-- +goose Down
ALTER TABLE verdict_images DROP COLUMN claimed_until;
