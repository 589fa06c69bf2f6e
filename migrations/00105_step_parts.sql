-- How a step has spent its time: its pull, its sandbox, its start and so on, as its agent tells.
-- And the index of good runs, which are found by their result since 00104.

-- +goose Up
ALTER TABLE run_steps ADD COLUMN parts jsonb;
DROP INDEX runs_good;
CREATE INDEX runs_good ON runs (project_id, created_at DESC) WHERE result = 'ready';

-- +goose Down
DROP INDEX runs_good;
CREATE INDEX runs_good ON runs (project_id, created_at DESC)
    WHERE status IN ('ready', 'removed');
ALTER TABLE run_steps DROP COLUMN parts;
