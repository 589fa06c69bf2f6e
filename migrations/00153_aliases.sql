-- Addresses that follow a rule: "latest--RULE" leads to what became ready last, "branch--BRANCH" to
-- what is of that branch.

-- +goose Up
ALTER TABLE review_rules ADD COLUMN aliases boolean NOT NULL DEFAULT false;
CREATE TABLE review_aliases (
    environment_id uuid NOT NULL REFERENCES environments ON DELETE CASCADE,
    name           text NOT NULL,
    rule_id        uuid NOT NULL REFERENCES review_rules ON DELETE CASCADE,
    deployment_id  uuid NOT NULL REFERENCES deployments ON DELETE CASCADE,
    PRIMARY KEY (environment_id, name)
);
CREATE INDEX review_aliases_rule ON review_aliases (rule_id);
CREATE INDEX review_aliases_deployment ON review_aliases (deployment_id);
-- The alias that a host is of; empty for the deployment's own.
ALTER TABLE deployment_hosts ADD COLUMN alias text NOT NULL DEFAULT '';

-- +goose Down
DELETE FROM deployment_hosts WHERE alias <> '';
ALTER TABLE deployment_hosts DROP COLUMN alias;
DROP TABLE review_aliases;
ALTER TABLE review_rules DROP COLUMN aliases;
