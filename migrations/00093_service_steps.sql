-- How a new step of a service begins: its ports, variables, volumes, limits and readiness.
-- The editor copies it into the pipeline; saved pipelines do not depend on it.

-- +goose Up
ALTER TABLE services ADD COLUMN step jsonb CHECK (jsonb_typeof(step) = 'object');

-- +goose Down
ALTER TABLE services DROP COLUMN step;
