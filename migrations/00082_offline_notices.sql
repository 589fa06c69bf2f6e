-- Deployments are offline while their node is, in lists and filters since 00065.
-- Subscribers learn of it as well: one notice for each deployment that the node
-- has something of, when its connection is lost and when it is back.

-- +goose Up
-- +goose StatementBegin
CREATE FUNCTION notice_of_offline_deployments() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.status = 'online' THEN
        INSERT INTO notices (event, deployment_id)
        SELECT 'deployment.online', d.id FROM deployments d
        WHERE d.node_id = NEW.id
            AND d.status IN ('applying', 'ready', 'undoing', 'removing', 'stuck');
    ELSE
        -- By the time this is told, the node may be back.
        INSERT INTO notices (event, deployment_id, data)
        SELECT 'deployment.offline', d.id,
            jsonb_build_object('reason', 'node ' || NEW.name || ' is ' || NEW.status)
        FROM deployments d
        WHERE d.node_id = NEW.id
            AND d.status IN ('applying', 'ready', 'undoing', 'removing', 'stuck');
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd
-- From offline to untrusted, say, nothing changes for a deployment.
CREATE TRIGGER nodes_deployments_notice AFTER UPDATE OF status ON nodes
    FOR EACH ROW WHEN ((OLD.status = 'online') <> (NEW.status = 'online'))
    EXECUTE FUNCTION notice_of_offline_deployments();

-- +goose Down
DROP TRIGGER nodes_deployments_notice ON nodes;
DROP FUNCTION notice_of_offline_deployments();
