-- How long a deployment may stay without activity: the environment's default,
-- and a project's own, which replaces it. Zero is never; for a project, no
-- value means that the environment decides.

-- +goose Up
ALTER TABLE environments ADD COLUMN cleanup_after_hours integer NOT NULL DEFAULT 0
    CHECK (cleanup_after_hours BETWEEN 0 AND 87600);
ALTER TABLE projects ADD COLUMN cleanup_after_hours integer
    CHECK (cleanup_after_hours BETWEEN 0 AND 87600);

-- +goose Down
ALTER TABLE projects DROP COLUMN cleanup_after_hours;
ALTER TABLE environments DROP COLUMN cleanup_after_hours;
