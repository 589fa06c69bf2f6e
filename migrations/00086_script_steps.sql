-- Steps that run JavaScript without a container.

-- +goose Up
ALTER TABLE run_steps
    DROP CONSTRAINT run_steps_kind_check,
    ADD CONSTRAINT run_steps_kind_check
        CHECK (kind IN ('service', 'job', 'plugin', 'approval', 'script'));

-- +goose Down
UPDATE run_steps SET kind = 'plugin' WHERE kind = 'script';
ALTER TABLE run_steps
    DROP CONSTRAINT run_steps_kind_check,
    ADD CONSTRAINT run_steps_kind_check CHECK (kind IN ('service', 'job', 'plugin', 'approval'));
