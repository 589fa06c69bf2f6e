-- Settings that several nodes share. A node that names a template has its own settings beside:
-- settings is what follows from both, and is written anew when either changes.

-- +goose Up
CREATE TABLE node_templates (
    name        text PRIMARY KEY CHECK (name ~ '^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$'),
    description text NOT NULL DEFAULT '',
    settings    jsonb NOT NULL CHECK (jsonb_typeof(settings) = 'object')
);
ALTER TABLE nodes ADD COLUMN template text REFERENCES node_templates;
ALTER TABLE nodes ADD COLUMN own_settings jsonb CHECK (jsonb_typeof(own_settings) = 'object');
ALTER TABLE nodes ADD CONSTRAINT nodes_template_own
    CHECK ((template IS NULL) = (own_settings IS NULL));
CREATE INDEX nodes_template ON nodes (template);

ALTER TABLE definition_owners DROP CONSTRAINT definition_owners_kind_check;
ALTER TABLE definition_owners ADD CONSTRAINT definition_owners_kind_check
    CHECK (kind IN ('registry', 'service', 'plugin', 'environment', 'node-template',
        'node', 'user', 'project', 'team', 'webhook', 'rule'));
CREATE TRIGGER node_templates_forget_owner AFTER DELETE ON node_templates
    FOR EACH ROW EXECUTE FUNCTION forget_definition_owner('node-template');

-- +goose Down
-- Nodes keep what their template gave them.
DELETE FROM definition_owners WHERE kind = 'node-template';
ALTER TABLE definition_owners DROP CONSTRAINT definition_owners_kind_check;
ALTER TABLE definition_owners ADD CONSTRAINT definition_owners_kind_check
    CHECK (kind IN ('registry', 'service', 'plugin', 'environment',
        'node', 'user', 'project', 'team', 'webhook', 'rule'));
ALTER TABLE nodes DROP COLUMN own_settings, DROP COLUMN template;
DROP TABLE node_templates;
