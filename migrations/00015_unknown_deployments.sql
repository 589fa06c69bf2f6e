-- Deployments that an agent was once told of and that this database has no row
-- of: it was restored from a backup. Nothing of them is deleted until an admin
-- adopts or purges them. deployment_id can refer to nothing, by definition.
-- +goose Up
CREATE TABLE unknown_deployments (
    node_id       uuid NOT NULL REFERENCES nodes ON DELETE CASCADE,
    deployment_id uuid NOT NULL,
    name          text NOT NULL,
    project       text NOT NULL,
    environment   text NOT NULL,
    phase         text NOT NULL,
    found_at      timestamptz NOT NULL DEFAULT now(),
    -- Set when an admin decided that it goes; the row stays until it is gone.
    purged_at     timestamptz,
    PRIMARY KEY (node_id, deployment_id)
);

-- +goose Down
DROP TABLE unknown_deployments;
