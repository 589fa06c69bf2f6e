-- A saved pipeline never changes. Rows were guarded already; emptying the whole
-- table asks no row trigger.

-- +goose Up
CREATE TRIGGER pipeline_versions_not_truncated BEFORE TRUNCATE ON pipeline_versions
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- +goose Down
DROP TRIGGER pipeline_versions_not_truncated ON pipeline_versions;
