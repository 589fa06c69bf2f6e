-- Deployments made from a drawing that nobody published: they run as they were
-- made and cannot be made again.

-- +goose Up
ALTER TABLE deployment_lives ADD COLUMN scratch boolean NOT NULL DEFAULT false;

-- +goose Down
ALTER TABLE deployment_lives DROP COLUMN scratch;
