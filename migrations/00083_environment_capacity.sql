-- How an environment counts what its nodes have: how often CPU is promised, and
-- when a node is too busy for a new deployment. What is missing is the default.

-- +goose Up
ALTER TABLE environments ADD COLUMN capacity jsonb NOT NULL DEFAULT '{}'
    CHECK (jsonb_typeof(capacity) = 'object');

-- What its services said they use of the node's GPU memory; reserved like the rest.
ALTER TABLE deployments ADD COLUMN vram_mib bigint NOT NULL DEFAULT 0 CHECK (vram_mib >= 0);

-- +goose Down
ALTER TABLE deployments DROP COLUMN vram_mib;
ALTER TABLE environments DROP COLUMN capacity;
