-- name: GetTurn :one
-- How far a queue has come for one priority: what was started last, or who of
-- that priority waits last.
SELECT greatest(
    coalesce((SELECT c.turn FROM queue_clock c WHERE c.scope = @scope), 0),
    coalesce((SELECT max(q.turn) FROM queue q WHERE q.scope = @scope AND q.left_at IS NULL
        AND q.priority = @priority), 0))::double precision AS turn;

-- name: InsertQueued :exec
-- A run's way begins. One that starts at once has only passed through.
INSERT INTO queue (run_id, deployment_id, scope, priority, wait, ask, turn, reason, position,
    deadline, started_at, left_at)
VALUES (@run_id, @deployment_id, @scope, @priority, @wait, @ask, @turn, @reason,
    CASE WHEN @started::boolean THEN 0 ELSE (SELECT 1 + count(*) FROM queue q
        WHERE q.scope = @scope AND q.left_at IS NULL AND q.turn <= @turn) END,
    now() + make_interval(secs => sqlc.narg(deadline_seconds)::double precision),
    CASE WHEN @started::boolean THEN now() END, CASE WHEN @started::boolean THEN now() END);

-- name: ListWaitingEnvironments :many
-- Where somebody waits; nearly always nowhere.
SELECT DISTINCT d.environment_id FROM queue q JOIN deployments d ON d.id = q.deployment_id
WHERE q.left_at IS NULL;

-- name: ListWaiting :many
-- Who waits in an environment, whose turn is first first, with what the
-- environment and the project ask of nodes now.
SELECT sqlc.embed(q), d.node_id, e.placement AS environment_placement,
    p.placement AS project_placement
FROM queue q
JOIN deployments d ON d.id = q.deployment_id
JOIN projects p ON p.id = d.project_id
JOIN environments e ON e.id = d.environment_id
WHERE q.left_at IS NULL AND d.environment_id = @environment_id
ORDER BY q.turn, q.queued_at, q.run_id;

-- name: StartQueued :execrows
-- The run's turn has come. No row means that it was canceled meanwhile.
UPDATE queue SET started_at = now(), left_at = now(), position = 0, reason = ''
WHERE run_id = @run_id AND left_at IS NULL;

-- name: AdvanceQueue :exec
-- A queue only moves forward.
INSERT INTO queue_clock (scope, turn) VALUES (@scope, @turn)
ON CONFLICT (scope) DO UPDATE SET turn = greatest(queue_clock.turn, excluded.turn);

-- name: LeaveQueue :execrows
-- It waits no more and never started. No row means that it did not wait.
UPDATE queue SET left_at = now(), position = 0 WHERE run_id = @run_id AND left_at IS NULL;

-- name: ListOverdue :many
-- Runs under way that are not ready and past their deadline, the longest first.
SELECT sqlc.embed(q) FROM runs r
JOIN queue q ON q.run_id = r.id
JOIN deployments d ON d.id = r.deployment_id
WHERE r.ended_at IS NULL AND q.left_at IS NOT NULL AND q.deadline < now()
    AND d.status IN ('queued', 'applying') AND d.want = 'present'
ORDER BY q.deadline, q.run_id LIMIT @most;

-- name: SetQueuePosition :execrows
-- Where a run stands and what it waits for. No row means that nothing changed.
UPDATE queue SET position = @position, reason = @reason
WHERE run_id = @run_id AND left_at IS NULL AND (position, reason) IS DISTINCT FROM
    (@position, @reason);

-- name: CountAttempts :exec
-- A node was told to do these runs, for the first time or once more.
UPDATE queue SET attempts = attempts + 1 WHERE run_id = ANY(@runs::uuid[]);

-- name: SetRunPipeline :exec
-- A run that waited for a node learns there which GPUs it has.
UPDATE runs SET pipeline = @pipeline WHERE id = @id;

-- name: ListQueueOf :many
-- The way of the runs of some deployments, newest first.
SELECT sqlc.embed(q), r.number, r.status, r.ended_at FROM queue q JOIN runs r ON r.id = q.run_id
WHERE q.deployment_id = ANY(@ids::uuid[]) AND (NOT @waiting::boolean OR q.left_at IS NULL)
ORDER BY q.run_id DESC;

-- name: ListQueue :many
-- Who waits, in order, or all that ever did, newest first; for the eyes that
-- may see the deployments.
SELECT sqlc.embed(q), r.number, r.status, r.ended_at, d.name, d.node_name, p.name AS project,
    e.name AS environment
FROM queue q
JOIN runs r ON r.id = q.run_id
JOIN deployments d ON d.id = q.deployment_id
JOIN projects p ON p.id = d.project_id
JOIN environments e ON e.id = d.environment_id
WHERE (@everything::boolean
        OR (d.project_id = ANY(@projects::uuid[])
            AND (NOT e.restricted OR d.environment_id = ANY(@environments::uuid[])))
        OR d.environment_id = ANY(@environments::uuid[]))
    AND (@history::boolean OR q.left_at IS NULL)
    AND (sqlc.narg(environment)::text IS NULL OR e.name = sqlc.narg(environment))
    AND (sqlc.narg(node)::text IS NULL OR d.node_name = sqlc.narg(node))
    AND (sqlc.narg(before)::uuid IS NULL OR q.run_id < sqlc.narg(before))
ORDER BY CASE WHEN @history THEN NULL ELSE e.name END,
    CASE WHEN @history THEN NULL ELSE d.node_name END,
    CASE WHEN @history THEN NULL ELSE q.turn END, q.run_id DESC
LIMIT @most;
