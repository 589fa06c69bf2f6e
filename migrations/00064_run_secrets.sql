-- The values of the secrets that a run uses belong to the run. They are sealed
-- when its node fetches them first, so that an agent that restarts gets the same
-- ones, whatever becomes of the project's secrets meanwhile.

-- +goose Up
CREATE TABLE run_secrets (
    run_id        uuid NOT NULL,
    -- Runs go with their deployment only. What is gone needs no values: their
    -- rows are deleted when it moves to such a status.
    deployment_id uuid NOT NULL REFERENCES deployments (id) ON DELETE CASCADE,
    name          text NOT NULL,
    sealed        bytea NOT NULL,
    created_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (run_id, name)
);
CREATE INDEX run_secrets_deployment ON run_secrets (deployment_id);

-- +goose Down
DROP TABLE run_secrets;
