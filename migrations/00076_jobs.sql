-- Steps that run a container to its end.

-- +goose Up
ALTER TABLE run_steps
    DROP CONSTRAINT run_steps_kind_check,
    ADD CONSTRAINT run_steps_kind_check CHECK (kind IN ('service', 'job', 'plugin', 'approval'));

-- +goose Down
UPDATE run_steps SET kind = 'service' WHERE kind = 'job';
ALTER TABLE run_steps
    DROP CONSTRAINT run_steps_kind_check,
    ADD CONSTRAINT run_steps_kind_check CHECK (kind IN ('service', 'plugin', 'approval'));
