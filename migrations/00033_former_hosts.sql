-- Where deployments answered that are gone: their addresses say so, until the
-- deployment is forgotten or another one has the host.

-- +goose Up
CREATE TABLE former_hosts (
    host          text PRIMARY KEY,
    deployment_id uuid NOT NULL REFERENCES deployments (id) ON DELETE CASCADE,
    step          text NOT NULL,
    port          integer NOT NULL
);
CREATE INDEX former_hosts_deployment ON former_hosts (deployment_id);

-- +goose Down
DROP TABLE former_hosts;
