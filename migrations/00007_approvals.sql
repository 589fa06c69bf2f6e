-- Steps that wait for a person, and what plugins want shown beside their step.
-- A report writes the question, a person the answer; an answer is given once.

-- +goose Up
ALTER TABLE run_steps
    DROP CONSTRAINT run_steps_kind_check,
    ADD CONSTRAINT run_steps_kind_check CHECK (kind IN ('service', 'plugin', 'approval')),
    DROP CONSTRAINT run_steps_status_check,
    ADD CONSTRAINT run_steps_status_check CHECK (status IN ('pending', 'pulling', 'running',
        'waiting', 'done', 'failed', 'undoing', 'undone', 'skipped', 'unknown')),
    -- Names and values a plugin reported, masked.
    ADD COLUMN metadata jsonb;

CREATE TABLE approvals (
    run_id      uuid NOT NULL,
    step        text NOT NULL,
    -- The question, with references filled in by the agent.
    prompt      text NOT NULL,
    asked_at    timestamptz NOT NULL,
    deadline    timestamptz NOT NULL,
    -- The step as the run's pipeline has it: its fields, and who may answer.
    approval    jsonb NOT NULL,

    approved    boolean,
    fields      jsonb,
    answered_by text,
    answered_at timestamptz,

    PRIMARY KEY (run_id, step),
    FOREIGN KEY (run_id, step) REFERENCES run_steps (run_id, key) ON DELETE CASCADE,
    CHECK ((approved IS NULL) = (answered_at IS NULL)
        AND (answered_by IS NULL) = (answered_at IS NULL))
);

-- +goose StatementBegin
CREATE FUNCTION approvals_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.answered_at IS NOT NULL AND (OLD.approved, OLD.fields, OLD.answered_by, OLD.answered_at)
        IS DISTINCT FROM (NEW.approved, NEW.fields, NEW.answered_by, NEW.answered_at) THEN
        RAISE EXCEPTION 'an answer is given once' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER approvals_guard BEFORE UPDATE ON approvals
    FOR EACH ROW EXECUTE FUNCTION approvals_guard();

-- +goose Down
DROP TABLE approvals;
DROP FUNCTION approvals_guard();
-- An older release knows neither; what it shows of them is no worse than a gap.
UPDATE run_steps SET kind = 'plugin' WHERE kind = 'approval';
UPDATE run_steps SET status = 'unknown' WHERE status = 'waiting';
ALTER TABLE run_steps
    DROP COLUMN metadata,
    DROP CONSTRAINT run_steps_kind_check,
    ADD CONSTRAINT run_steps_kind_check CHECK (kind IN ('service', 'plugin')),
    DROP CONSTRAINT run_steps_status_check,
    ADD CONSTRAINT run_steps_status_check CHECK (status IN ('pending', 'pulling', 'running',
        'done', 'failed', 'undoing', 'undone', 'skipped', 'unknown'));
