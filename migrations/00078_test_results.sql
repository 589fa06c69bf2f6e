-- What the test runner of a job reported: the numbers with the step, since every list shows
-- them, and what failed in a table of its own, since it can be large.

-- +goose Up
ALTER TABLE run_steps ADD COLUMN tests jsonb;

CREATE TABLE test_reports (
    run_id    uuid NOT NULL,
    step      text NOT NULL,
    -- Suite, name and message of the first failed tests, masked by the agent.
    failures  jsonb NOT NULL,
    truncated boolean NOT NULL,

    PRIMARY KEY (run_id, step),
    FOREIGN KEY (run_id, step) REFERENCES run_steps (run_id, key) ON DELETE CASCADE
);

-- +goose Down
DROP TABLE test_reports;
ALTER TABLE run_steps DROP COLUMN tests;
