-- Which named set of documents holds a definition. Pruning deletes only what the
-- same set held before, and never what somebody else defined.
-- +goose Up
CREATE TABLE definition_owners (
    kind        text NOT NULL CHECK (kind IN ('registry', 'service', 'plugin', 'environment',
        'node', 'user', 'project', 'team', 'webhook', 'rule')),
    name        text NOT NULL CHECK (name <> ''),
    owner       text NOT NULL CHECK (owner <> ''),
    recorded_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (kind, name)
);
CREATE INDEX definition_owners_owner ON definition_owners (owner);

-- A definition that is deleted and made again by somebody else is not the owner's,
-- whichever way it was deleted.
-- +goose StatementBegin
CREATE FUNCTION forget_definition_owner() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM definition_owners WHERE kind = TG_ARGV[0] AND name = OLD.name;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER registries_forget_owner AFTER DELETE ON registries
    FOR EACH ROW EXECUTE FUNCTION forget_definition_owner('registry');
CREATE TRIGGER services_forget_owner AFTER DELETE ON services
    FOR EACH ROW EXECUTE FUNCTION forget_definition_owner('service');
CREATE TRIGGER plugins_forget_owner AFTER DELETE ON plugins
    FOR EACH ROW EXECUTE FUNCTION forget_definition_owner('plugin');
CREATE TRIGGER environments_forget_owner AFTER DELETE ON environments
    FOR EACH ROW EXECUTE FUNCTION forget_definition_owner('environment');
CREATE TRIGGER nodes_forget_owner AFTER DELETE ON nodes
    FOR EACH ROW EXECUTE FUNCTION forget_definition_owner('node');
CREATE TRIGGER users_forget_owner AFTER DELETE ON users
    FOR EACH ROW EXECUTE FUNCTION forget_definition_owner('user');
CREATE TRIGGER projects_forget_owner AFTER DELETE ON projects
    FOR EACH ROW EXECUTE FUNCTION forget_definition_owner('project');
CREATE TRIGGER teams_forget_owner AFTER DELETE ON teams
    FOR EACH ROW EXECUTE FUNCTION forget_definition_owner('team');
CREATE TRIGGER webhooks_forget_owner AFTER DELETE ON webhooks
    FOR EACH ROW EXECUTE FUNCTION forget_definition_owner('webhook');
CREATE TRIGGER review_rules_forget_owner AFTER DELETE ON review_rules
    FOR EACH ROW EXECUTE FUNCTION forget_definition_owner('rule');

-- +goose Down
DROP TRIGGER review_rules_forget_owner ON review_rules;
DROP TRIGGER webhooks_forget_owner ON webhooks;
DROP TRIGGER teams_forget_owner ON teams;
DROP TRIGGER projects_forget_owner ON projects;
DROP TRIGGER users_forget_owner ON users;
DROP TRIGGER nodes_forget_owner ON nodes;
DROP TRIGGER environments_forget_owner ON environments;
DROP TRIGGER plugins_forget_owner ON plugins;
DROP TRIGGER services_forget_owner ON services;
DROP TRIGGER registries_forget_owner ON registries;
DROP FUNCTION forget_definition_owner();
DROP TABLE definition_owners;
