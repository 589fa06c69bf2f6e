-- What admins decide about nodes, and what environments and projects ask of
-- them. Each is one document, read and written as a whole; the grammar of what
-- is inside is checked in one place, controlplane/placement.go.

-- +goose Up
ALTER TABLE nodes ADD COLUMN settings jsonb NOT NULL DEFAULT '{}'
    CHECK (jsonb_typeof(settings) = 'object');
ALTER TABLE environments ADD COLUMN placement jsonb NOT NULL DEFAULT '{}'
    CHECK (jsonb_typeof(placement) = 'object');
ALTER TABLE projects ADD COLUMN placement jsonb NOT NULL DEFAULT '{}'
    CHECK (jsonb_typeof(placement) = 'object');

-- Which of the node's GPUs a deployment reserved, by their id. GPUs are taken
-- whole: an id stands in the list of one deployment of a node at most.
ALTER TABLE deployments ADD COLUMN gpus text[] NOT NULL DEFAULT '{}';

-- +goose Down
ALTER TABLE deployments DROP COLUMN gpus;
ALTER TABLE projects DROP COLUMN placement;
ALTER TABLE environments DROP COLUMN placement;
ALTER TABLE nodes DROP COLUMN settings;
