-- An alert outlives what it is about: whoever was told that a node is offline is also told that this
-- is over when somebody deletes the node, and whatever opened a ticket closes it.
-- +goose Up
ALTER TABLE alerts
    DROP CONSTRAINT alerts_project_id_fkey,
    DROP CONSTRAINT alerts_environment_id_fkey,
    DROP CONSTRAINT alerts_deployment_id_fkey,
    DROP CONSTRAINT alerts_node_id_fkey,
    ADD CONSTRAINT alerts_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects
        ON DELETE SET NULL,
    ADD CONSTRAINT alerts_environment_id_fkey FOREIGN KEY (environment_id) REFERENCES environments
        ON DELETE SET NULL,
    ADD CONSTRAINT alerts_deployment_id_fkey FOREIGN KEY (deployment_id) REFERENCES deployments
        ON DELETE SET NULL,
    ADD CONSTRAINT alerts_node_id_fkey FOREIGN KEY (node_id) REFERENCES nodes ON DELETE SET NULL;

-- +goose Down
ALTER TABLE alerts
    DROP CONSTRAINT alerts_project_id_fkey,
    DROP CONSTRAINT alerts_environment_id_fkey,
    DROP CONSTRAINT alerts_deployment_id_fkey,
    DROP CONSTRAINT alerts_node_id_fkey,
    ADD CONSTRAINT alerts_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects
        ON DELETE CASCADE,
    ADD CONSTRAINT alerts_environment_id_fkey FOREIGN KEY (environment_id) REFERENCES environments
        ON DELETE CASCADE,
    ADD CONSTRAINT alerts_deployment_id_fkey FOREIGN KEY (deployment_id) REFERENCES deployments
        ON DELETE CASCADE,
    ADD CONSTRAINT alerts_node_id_fkey FOREIGN KEY (node_id) REFERENCES nodes ON DELETE CASCADE;
