-- name: PutQuestion :exec
-- An agent that lost its memory asks again; an answer from before stays.
INSERT INTO approvals (run_id, step, prompt, asked_at, deadline, approval)
VALUES (@run_id, @step, @prompt, @asked_at, @deadline, @approval)
ON CONFLICT (run_id, step) DO UPDATE
SET prompt = excluded.prompt, asked_at = excluded.asked_at, deadline = excluded.deadline;

-- name: GetQuestion :one
-- One question, answered or not, with where its step stands.
SELECT sqlc.embed(a), s.status, r.deployment_id, r.number AS run
FROM approvals a
JOIN run_steps s ON s.run_id = a.run_id AND s.key = a.step
JOIN runs r ON r.id = a.run_id
WHERE r.deployment_id = @deployment_id AND r.number = @run AND a.step = @step;

-- name: ListOpenQuestions :many
-- What deployments wait for, for pages and lists.
SELECT sqlc.embed(a), s.status, r.deployment_id, r.number AS run
FROM approvals a
JOIN run_steps s ON s.run_id = a.run_id AND s.key = a.step AND s.status = 'waiting'
JOIN runs r ON r.id = a.run_id
WHERE r.deployment_id = ANY(@ids::uuid[])
ORDER BY r.deployment_id, r.number DESC;

-- name: AnswerQuestion :execrows
-- The only way an answer is given. No row means that somebody was faster, or
-- that nobody waits for it any more.
UPDATE approvals a
SET approved = @approved::boolean, fields = @fields, answered_by = @answered_by::text,
    answered_at = now()
FROM run_steps s
WHERE s.run_id = a.run_id AND s.key = a.step AND s.status = 'waiting'
    AND a.run_id = @run_id AND a.step = @step AND a.answered_at IS NULL;

-- name: ListAnswers :many
-- What agents are told with their goals.
SELECT run_id, step, approved, fields, answered_by, answered_at FROM approvals
WHERE run_id = ANY(@ids::uuid[]) AND answered_at IS NOT NULL ORDER BY run_id, step;
