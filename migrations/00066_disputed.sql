-- After a restore a node may say something else of a deployment than its row
-- does. Such a row is kept here as well, beside those without any row: nothing
-- is sent to the node about it until an admin decided whom to believe.
-- +goose Up
ALTER TABLE unknown_deployments
    ADD COLUMN disputed boolean NOT NULL DEFAULT false,
    -- Why, as one sentence for people; empty for one without a row.
    ADD COLUMN reason text NOT NULL DEFAULT '',
    -- What the node works on, in the agent's words.
    ADD COLUMN run_id text NOT NULL DEFAULT '',
    ADD COLUMN generation bigint NOT NULL DEFAULT 0;
CREATE INDEX unknown_deployments_id ON unknown_deployments (deployment_id);

-- +goose Down
DROP INDEX unknown_deployments_id;
DELETE FROM unknown_deployments WHERE disputed;
ALTER TABLE unknown_deployments DROP COLUMN disputed, DROP COLUMN reason,
    DROP COLUMN run_id, DROP COLUMN generation;
