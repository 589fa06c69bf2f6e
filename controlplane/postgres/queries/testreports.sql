-- name: PutTestReport :exec
-- What failed in a test suite. A job that ran again replaces what it said before.
INSERT INTO test_reports (run_id, step, failures, truncated)
VALUES (@run_id, @step, @failures, @truncated)
ON CONFLICT (run_id, step) DO UPDATE
SET failures = excluded.failures, truncated = excluded.truncated;

-- name: GetTestReport :one
-- The results of one step of a run, in full.
SELECT s.tests, t.failures, t.truncated FROM run_steps s
JOIN test_reports t ON t.run_id = s.run_id AND t.step = s.key
WHERE s.run_id = @run_id AND s.key = @key AND s.tests IS NOT NULL;

-- name: ListTestSummaries :many
-- What the test suites of some runs came to, in the order of their steps.
SELECT run_id, tests FROM run_steps
WHERE run_id = ANY(@runs::uuid[]) AND tests IS NOT NULL ORDER BY run_id, position;
