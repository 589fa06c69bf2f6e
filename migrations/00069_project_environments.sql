-- The environments a project is limited to; none means every environment. Full
-- access to an environment opens only the projects that may be deployed there.
-- +goose Up
ALTER TABLE projects ADD COLUMN environments uuid[] NOT NULL DEFAULT '{}';

-- +goose Down
ALTER TABLE projects DROP COLUMN environments;
