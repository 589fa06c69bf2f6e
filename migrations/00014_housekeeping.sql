-- What the control plane does by itself, and when it is due: several of them
-- share the table, and whoever claims a job does it. And when anybody last
-- showed interest in a deployment, which its cleanup rule counts from.
-- +goose Up
CREATE TABLE jobs (
    name    text PRIMARY KEY,
    every   interval NOT NULL CHECK (every > interval '0'),
    next_at timestamptz NOT NULL DEFAULT now()
);

ALTER TABLE deployments ADD COLUMN active_at timestamptz NOT NULL DEFAULT now();
UPDATE deployments SET active_at = created_at;

-- +goose Down
ALTER TABLE deployments DROP COLUMN active_at;
DROP TABLE jobs;
