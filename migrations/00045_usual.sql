-- How long a project's good runs usually take is asked for each row of the list
-- of deployments: the last twelve have to be found without reading all.

-- +goose Up
CREATE INDEX runs_good ON runs (project_id, created_at DESC)
    WHERE status IN ('ready', 'removed');

-- +goose Down
DROP INDEX runs_good;
