-- name: InsertDeployment :exec
-- The row is also the reservation: who inserts it holds the environment's nodes.
INSERT INTO deployments (id, name, project_id, environment_id, node_id, node_name, created_by,
    cpu, memory_mib, gpus, vram_mib, versions)
VALUES (@id, @name, @project_id, @environment_id, @node_id, @node_name, @created_by,
    @cpu, @memory_mib, @gpus, coalesce(sqlc.narg(vram_mib)::bigint, 0), @versions);

-- name: InsertHost :exec
-- The primary key makes sure that no two deployments share a host.
INSERT INTO deployment_hosts (host, deployment_id, step, port_name, port, main, alias)
VALUES (@host, @deployment_id, @step, @port_name, @port, @main, @alias);

-- name: KeepFormerHosts :exec
-- What a deployment that is gone leaves at its addresses.
INSERT INTO former_hosts (host, deployment_id, step, port)
SELECT h.host, h.deployment_id, h.step, h.port FROM deployment_hosts h
WHERE h.deployment_id = @deployment_id AND h.alias = ''
ON CONFLICT (host) DO UPDATE SET deployment_id = excluded.deployment_id, step = excluded.step,
    port = excluded.port;

-- name: DeleteHosts :exec
-- A deployment that is gone gives its hosts back.
DELETE FROM deployment_hosts WHERE deployment_id = @deployment_id;

-- name: DeleteOwnHosts :exec
-- Those of aliases stay.
DELETE FROM deployment_hosts WHERE deployment_id = @deployment_id AND alias = '';

-- name: InsertRun :exec
-- One attempt; its number is one more than the last.
INSERT INTO runs (id, deployment_id, number, project_id, pipeline_version, pipeline, key_sealed,
    started_by, input)
VALUES (@id, @deployment_id,
    (SELECT coalesce(max(r.number), 0) + 1 FROM runs r WHERE r.deployment_id = @deployment_id),
    @project_id, @pipeline_version, @pipeline, @key_sealed, @started_by, @input);

-- name: InsertRunStep :exec
-- Steps exist from the start, pending, so that the graph is whole.
INSERT INTO run_steps (run_id, key, position, kind, title)
VALUES (@run_id, @key, @position, @kind, @title);

-- name: LockNodesOfEnvironment :many
-- Placement reads them under a lock, so that two racers never overbook.
SELECT id, name, status, inventory, vitals, settings, drain FROM nodes
WHERE environment_id = @environment_id ORDER BY name FOR UPDATE;

-- name: ListReservations :many
-- What is promised on each node, deployment by deployment, and what of it is
-- really used.
SELECT g.node_id, d.status, d.cpu, d.memory_mib, d.gpus, d.vram_mib,
    EXISTS (SELECT FROM queue q WHERE q.deployment_id = d.id AND q.left_at IS NULL) AS waiting,
    EXISTS (SELECT FROM runs r JOIN run_steps s ON s.run_id = r.id
        WHERE r.deployment_id = d.id AND s.status = 'waiting') AS asking,
    coalesce((SELECT sum(h.memory) FROM service_health h
        WHERE h.deployment_id = d.id), 0)::bigint AS memory_used
FROM (
    SELECT o.node_id, o.deployment_id FROM node_goals o
    UNION ALL SELECT m.node_id, m.deployment_id FROM relocations m WHERE m.phase = 'measuring'
) g
JOIN deployments d ON d.id = g.deployment_id
WHERE d.environment_id = @environment_id;

-- name: GetDeploymentRow :one
-- One deployment as people see it.
SELECT * FROM deployment_rows WHERE id = @id;

-- name: GetDeploymentRows :many
-- Some deployments as people see them, newest first; who is gone for good is
-- left out.
SELECT * FROM deployment_rows WHERE id = ANY(@ids::uuid[]) ORDER BY id DESC;

-- name: ListDeploymentIDs :many
-- Newest first; every filter is optional. Who is not an admin sees what the
-- granted projects and environments hold. It reads one table from its end until
-- a page is full: joining first, as the view does, would join all there are.
SELECT d.id FROM deployments d
WHERE (@everything::boolean
        OR (d.project_id = ANY(@projects::uuid[])
            AND d.environment_id NOT IN (SELECT e.id FROM environments e WHERE e.restricted))
        OR d.environment_id = ANY(@environments::uuid[]))
    AND (sqlc.narg(project)::text IS NULL
        OR d.project_id = (SELECT p.id FROM projects p WHERE p.name = sqlc.narg(project)))
    AND (sqlc.narg(environment)::text IS NULL
        OR d.environment_id = (SELECT e.id FROM environments e WHERE e.name = sqlc.narg(environment)))
    AND (sqlc.narg(name)::text IS NULL OR d.name = sqlc.narg(name))
    AND (cardinality(@statuses::text[]) = 0
        OR d.status <> 'ready' AND d.status = ANY(@statuses::text[])
        OR deployment_condition(d.status, d.degraded, d.node_id IN (
            SELECT n.id FROM nodes n WHERE n.status <> 'online')) = ANY(@statuses))
    AND (@removed::boolean OR d.status NOT IN ('canceled', 'removed', 'forgotten'))
    AND (sqlc.narg(before)::uuid IS NULL OR d.id < sqlc.narg(before))
    AND (sqlc.narg(search)::text IS NULL
        OR position(lower(sqlc.narg(search)) IN lower(d.name)) > 0
        OR position(lower(sqlc.narg(search)) IN lower(d.created_by)) > 0
        OR EXISTS (SELECT 1 FROM jsonb_array_elements(nullif(d.versions, 'null')) v
            WHERE position(lower(sqlc.narg(search)) IN lower(v ->> 'tag')) > 0))
ORDER BY d.id DESC LIMIT @most;

-- name: ListDeploymentIDsSorted :many
-- The same in another order, by name or by age. It reads all that fit and sorts
-- them, which the usual order above is spared.
WITH fit AS (
    SELECT d.id, CASE WHEN @by_name::boolean THEN d.name ELSE '' END AS name
    FROM deployments d
    WHERE (@everything::boolean
            OR (d.project_id = ANY(@projects::uuid[])
                AND d.environment_id NOT IN (SELECT e.id FROM environments e WHERE e.restricted))
            OR d.environment_id = ANY(@environments::uuid[]))
        AND (sqlc.narg(project)::text IS NULL
            OR d.project_id = (SELECT p.id FROM projects p WHERE p.name = sqlc.narg(project)))
        AND (sqlc.narg(environment)::text IS NULL
            OR d.environment_id = (SELECT e.id FROM environments e WHERE e.name = sqlc.narg(environment)))
        AND (sqlc.narg(name)::text IS NULL OR d.name = sqlc.narg(name))
        AND (cardinality(@statuses::text[]) = 0
        OR d.status <> 'ready' AND d.status = ANY(@statuses::text[])
        OR deployment_condition(d.status, d.degraded, d.node_id IN (
            SELECT n.id FROM nodes n WHERE n.status <> 'online')) = ANY(@statuses))
        AND (@removed::boolean OR d.status NOT IN ('canceled', 'removed', 'forgotten'))
        AND (sqlc.narg(search)::text IS NULL
            OR position(lower(sqlc.narg(search)) IN lower(d.name)) > 0
            OR position(lower(sqlc.narg(search)) IN lower(d.created_by)) > 0
            OR EXISTS (SELECT 1 FROM jsonb_array_elements(nullif(d.versions, 'null')) v
                WHERE position(lower(sqlc.narg(search)) IN lower(v ->> 'tag')) > 0))
)
SELECT f.id FROM fit f
WHERE sqlc.narg(after_id)::uuid IS NULL
    OR (f.name, f.id) < (@after_name::text, sqlc.narg(after_id)::uuid) AND @backwards::boolean
    OR (f.name, f.id) > (@after_name, sqlc.narg(after_id)::uuid) AND NOT @backwards
ORDER BY CASE WHEN @backwards THEN f.name END DESC, CASE WHEN @backwards THEN f.id END DESC,
    f.name, f.id
LIMIT @most;

-- name: LockDeployment :one
-- Whoever moves a deployment holds its row; numbers are given out under it.
SELECT d.*, r.id AS run_id, r.number AS run FROM deployments d
JOIN LATERAL (SELECT r.id, r.number FROM runs r WHERE r.deployment_id = d.id
    ORDER BY r.number DESC LIMIT 1) r ON true
WHERE d.id = @id FOR UPDATE OF d;

-- name: MoveDeployment :execrows
-- The only way a status changes. No row means that somebody was faster.
UPDATE deployments SET status = @status, detail = @detail, changed_at = now(),
    ready_at = CASE WHEN @status = 'ready' THEN now() ELSE ready_at END,
    left_behind = @left_behind
WHERE id = @id AND status = ANY(@before::text[]);

-- name: SetDeploymentGoal :exec
-- What people want; the generation tells old reports from new ones, and the
-- request is kept for all that comes of it.
UPDATE deployments SET want = @want, generation = generation + 1,
    canceled = canceled OR @canceled, request_id = current_request()
WHERE id = @id;

-- name: SetDeploymentNode :exec
-- A retry may be placed elsewhere.
UPDATE deployments SET node_id = @node_id, node_name = @node_name, versions = @versions,
    cpu = @cpu, memory_mib = @memory_mib, gpus = @gpus,
    vram_mib = coalesce(sqlc.narg(vram_mib), vram_mib)
WHERE id = @id;

-- name: SetDeploymentDetail :exec
-- One line for people, on what is going on.
UPDATE deployments SET detail = @detail WHERE id = @id AND detail <> @detail;

-- name: InsertHistory :one
-- Numbers an event of the deployment; the caller holds the row.
WITH numbered AS (
    UPDATE deployments SET last_event = last_event + 1, changed_at = now()
    WHERE id = @deployment_id RETURNING id, last_event, request_id
)
INSERT INTO deployment_events (deployment_id, seq, kind, data, request_id)
SELECT id, last_event, @kind, @data, request_id FROM numbered RETURNING seq;

-- name: ListHistory :many
-- What a deployment's stream missed, oldest first.
SELECT * FROM deployment_events WHERE deployment_id = @deployment_id AND seq > @after
ORDER BY seq LIMIT @most;

-- name: GetRun :one
-- One run by its number.
SELECT * FROM runs WHERE deployment_id = @deployment_id AND number = @number;

-- name: GetRunByID :one
-- One run by the id that reports carry.
SELECT * FROM runs WHERE id = @id;

-- name: ListRuns :many
-- Every attempt, newest first.
SELECT * FROM runs WHERE deployment_id = @deployment_id ORDER BY number DESC;

-- name: ListGoodRuns :many
-- Good runs of a project, those before a time first, and of both the newest first.
SELECT id, deployment_id FROM runs
WHERE project_id = @project_id AND result = 'ready' AND id <> @except_id
ORDER BY (created_at < @before::timestamptz) DESC, created_at DESC LIMIT @most;

-- name: MoveRun :exec
-- A run ends once; its failure is written once. Its result is the first end that it
-- reached, and stays when the deployment is removed later.
UPDATE runs SET status = @status,
    result = CASE WHEN result <> '' THEN result
        WHEN @failure_code::text <> '' THEN 'failed'
        WHEN @status IN ('ready', 'failed', 'canceled') THEN @status ELSE '' END,
    ended_at = CASE WHEN @ended::boolean THEN coalesce(ended_at, now()) ELSE ended_at END,
    failure_step = CASE WHEN failure_code = '' THEN @failure_step ELSE failure_step END,
    failure_message = CASE WHEN failure_code = '' THEN @failure_message ELSE failure_message END,
    failure_code = CASE WHEN failure_code = '' THEN @failure_code ELSE failure_code END
WHERE id = @id;

-- name: ListRunSteps :many
-- The steps of a run, in order.
SELECT * FROM run_steps WHERE run_id = @run_id ORDER BY position;

-- name: MoveRunStep :one
-- What the agent reported of a step. What its undo said never hides why it failed, nor
-- what its result was.
UPDATE run_steps SET status = @status,
    result = CASE WHEN @code::text = 'undo_failed' THEN result
        WHEN @status IN ('done', 'failed') THEN @status
        WHEN @status IN ('pending', 'pulling', 'running', 'waiting') THEN '' ELSE result END,
    undone_at = CASE WHEN @status = 'undone' THEN coalesce(undone_at, @at)
        WHEN @status IN ('undoing', 'skipped', 'unknown') THEN undone_at END,
    started_at = CASE WHEN @status IN ('pulling', 'running', 'waiting') THEN coalesce(started_at, @at)
        ELSE started_at END,
    ended_at = CASE WHEN @status IN ('done', 'failed') THEN @at ELSE ended_at END,
    code = CASE WHEN @code::text = '' OR code <> '' AND @status IN ('undoing', 'undone')
        THEN code ELSE @code END,
    message = CASE WHEN @message::text = '' OR code <> '' AND @status IN ('undoing', 'undone')
        THEN message ELSE @message END,
    exit_code = CASE WHEN code <> '' AND @status IN ('undoing', 'undone') THEN exit_code
        ELSE coalesce(sqlc.narg(exit_code), exit_code) END,
    outputs = coalesce(sqlc.narg(outputs)::jsonb, outputs),
    sealed = coalesce(sqlc.narg(sealed)::bytea, sealed),
    metadata = coalesce(sqlc.narg(metadata)::jsonb, metadata),
    tests = coalesce(sqlc.narg(tests)::jsonb, tests),
    parts = CASE WHEN sqlc.narg(parts)::jsonb IS NULL OR jsonb_array_length(parts) >= 100 THEN parts
        ELSE coalesce(parts, '[]') || sqlc.narg(parts)::jsonb END
WHERE run_id = @run_id AND key = @key RETURNING *;

-- name: ListUsualSeconds :many
-- The median of each step over the project's last twelve good runs. How long a
-- person takes to answer is no measure of anything.
SELECT s.key, percentile_cont(0.5) WITHIN GROUP
    (ORDER BY extract(epoch FROM s.ended_at - s.started_at))::double precision AS seconds
FROM (SELECT r.id FROM runs r WHERE r.project_id = @project_id AND r.result = 'ready'
    ORDER BY r.created_at DESC LIMIT 12) latest
JOIN run_steps s ON s.run_id = latest.id
WHERE s.result = 'done' AND s.kind <> 'approval' AND s.started_at IS NOT NULL
    AND s.ended_at IS NOT NULL
GROUP BY s.key;

-- name: ListUsualTotals :many
-- The sum of those medians, of many projects at once.
SELECT p.id AS project_id, total.seconds FROM projects p
CROSS JOIN LATERAL (SELECT coalesce(sum(usual.seconds), 0)::double precision AS seconds FROM (
    SELECT percentile_cont(0.5) WITHIN GROUP
        (ORDER BY extract(epoch FROM s.ended_at - s.started_at)) AS seconds
    FROM (SELECT r.id FROM runs r WHERE r.project_id = p.id AND r.result = 'ready'
        ORDER BY r.created_at DESC LIMIT 12) latest
    JOIN run_steps s ON s.run_id = latest.id
    WHERE s.result = 'done' AND s.kind <> 'approval' AND s.started_at IS NOT NULL
        AND s.ended_at IS NOT NULL
    GROUP BY s.key) usual) total
WHERE p.id = ANY(@projects::uuid[]);

-- name: ReserveLines :one
-- Gives out numbers for new lines; the first is the result minus count plus one.
UPDATE deployments SET last_line = last_line + @count::bigint WHERE id = @id RETURNING last_line;

-- name: ReturnLines :exec
-- Takes back the last numbers, which no line was given: a line sent twice is one line.
-- Since ReserveLines the row is locked, so nobody has numbers behind them.
UPDATE deployments SET last_line = last_line - @unused::bigint WHERE id = @id;

-- name: InsertLine :execrows
-- A line sent twice is one line.
INSERT INTO log_lines (deployment_id, id, run_id, step, number, at, text, dropped)
VALUES (@deployment_id, @id, @run_id, @step, @number, @at, @text, @dropped)
ON CONFLICT (run_id, step, number) DO NOTHING;

-- name: CountLines :exec
-- How many lines a step has, for the graph. Their numbers leave gaps between attempts.
UPDATE run_steps SET lines = lines + @added::bigint WHERE run_id = @run_id AND key = @key;

-- name: ListLines :many
-- What a deployment's stream missed, oldest first.
SELECT l.*, r.number AS run FROM log_lines l JOIN runs r ON r.id = l.run_id
WHERE l.deployment_id = @deployment_id AND l.id > @after ORDER BY l.id LIMIT @most;

-- name: ListStepLines :many
-- The log of one step of one run.
SELECT * FROM log_lines WHERE run_id = @run_id AND step = @step AND number > @after
ORDER BY number LIMIT @most;

-- name: ListStepLinesUpTo :many
-- The log of one step of one run backwards from a line.
SELECT number, text FROM log_lines WHERE run_id = @run_id AND step = @step AND number <= @last
ORDER BY number DESC LIMIT @most;

-- name: PutHealth :execrows
-- A row is written only when people would see a difference: what a service says that is
-- well is no news.
INSERT INTO service_health (deployment_id, step, health, ended, detail, restarts, cpu, memory)
VALUES (@deployment_id, @step, @health, @ended, @detail, @restarts, @cpu, @memory)
ON CONFLICT (deployment_id, step) DO UPDATE
SET health = excluded.health, ended = excluded.ended, detail = excluded.detail,
    restarts = excluded.restarts, cpu = excluded.cpu, memory = excluded.memory, at = now()
WHERE (service_health.health, service_health.ended, service_health.restarts)
        IS DISTINCT FROM (excluded.health, excluded.ended, excluded.restarts)
    OR excluded.health <> 'healthy' AND service_health.detail <> excluded.detail;

-- name: RefreshDegraded :execrows
-- Follows from the health that was just stored. No row means that the reason is
-- what it was.
UPDATE deployments SET degraded = degraded_reason(id)
WHERE id = @id AND degraded <> degraded_reason(id);

-- name: PutUse :exec
-- Use changes all the time and wakes nobody.
UPDATE service_health SET cpu = @cpu, memory = @memory, detail = @detail, at = now()
WHERE deployment_id = @deployment_id AND step = @step;

-- name: ListHealthOf :many
-- The health of every service of many deployments, for lists.
SELECT * FROM service_health WHERE deployment_id = ANY(@ids::uuid[]) ORDER BY deployment_id, step;

-- name: ListHostsOf :many
-- The hosts of many deployments, for lists.
SELECT * FROM deployment_hosts WHERE deployment_id = ANY(@ids::uuid[]) AND alias = ''
ORDER BY deployment_id, step, main DESC, port_name;

-- name: DeleteHealth :exec
-- What is gone has no health.
DELETE FROM service_health WHERE deployment_id = @deployment_id;

-- name: ListNodeGoals :many
-- What should be true on one node: everything not yet settled as gone, and
-- whose turn has come.
SELECT d.id, coalesce(nullif(l.known_as, ''), d.name)::text AS name,
    (coalesce(l.known_as, '') NOT IN ('', d.name))::boolean AS renamed, d.generation, g.want,
    g.elsewhere, g.still, d.status, p.name AS project,
    p.cpu, p.memory_mib, e.name AS environment, e.domain, r.id AS run_id, r.pipeline_version,
    r.pipeline, r.input, r.traceparent, d.request_id, coalesce(m.resume, '{}')::text[] AS resume,
    m.since AS attempt, h.since AS restore
FROM node_goals g
JOIN deployments d ON d.id = g.deployment_id
LEFT JOIN deployment_lives l ON l.deployment_id = d.id
LEFT JOIN relocations m ON m.deployment_id = d.id AND g.elsewhere AND g.want = 'present'
LEFT JOIN volume_holds h ON h.deployment_id = d.id AND NOT g.elsewhere
    AND h.purpose IN ('restore', 'fill') AND h.ended_at IS NULL
JOIN projects p ON p.id = d.project_id
JOIN environments e ON e.id = d.environment_id
JOIN LATERAL (SELECT * FROM runs r WHERE r.deployment_id = d.id ORDER BY r.number DESC LIMIT 1) r
    ON true
WHERE g.node_id = @node_id
    AND NOT EXISTS (SELECT FROM queue q WHERE q.run_id = r.id AND q.left_at IS NULL)
    -- Nothing is sent while the node and this row contradict each other.
    AND NOT EXISTS (SELECT FROM unknown_deployments u WHERE u.node_id = g.node_id
        AND u.deployment_id = d.id AND u.disputed)
ORDER BY d.id;

-- name: ListRoutes :many
-- What the ingress should answer for, host by host, in the order of bytes.
SELECT * FROM route_rows ORDER BY host COLLATE "C";

-- name: ListRoutesOf :many
-- The same for some deployments.
SELECT * FROM route_rows WHERE deployment_id = ANY(@ids::uuid[]) ORDER BY host COLLATE "C";

-- name: ListLivingOn :many
-- Whose pages depend on these nodes.
SELECT id FROM deployments
WHERE node_id = ANY(@nodes::uuid[]) AND status IN ('queued', 'applying', 'ready');

-- name: AdvanceReports :execrows
-- A report is applied when it is newer than the last one committed.
INSERT INTO node_reports (node_id, last_seq) VALUES (@node_id, @seq)
ON CONFLICT (node_id) DO UPDATE SET last_seq = excluded.last_seq
WHERE node_reports.last_seq < excluded.last_seq;

-- name: ResetReports :exec
-- An agent that lost its memory counts from the beginning again.
INSERT INTO node_reports (node_id, last_seq) VALUES (@node_id, @seq)
ON CONFLICT (node_id) DO UPDATE SET last_seq = excluded.last_seq;

-- name: GetReports :one
-- The last report committed of one node.
SELECT last_seq FROM node_reports WHERE node_id = @node_id;

-- name: ListChangedSince :many
-- Deployments that changed in transactions behind the given one, up to the
-- oldest that is still open: nothing can appear later below what was read.
SELECT DISTINCT ON (deployment_id) deployment_id, xact FROM deployment_events
WHERE xact > @after::bigint
    AND xact < pg_snapshot_xmin(pg_current_snapshot())::text::bigint
ORDER BY deployment_id, xact DESC;

-- name: OpenTransaction :one
-- Everything below it is committed or will never be.
SELECT (pg_snapshot_xmin(pg_current_snapshot())::text::bigint - 1)::bigint;

-- name: PutProgress :exec
-- A sign of life of a running step; it counts as no change.
UPDATE run_steps SET progress = @progress
WHERE run_id = @run_id AND key = @key AND status IN ('pending', 'pulling', 'running', 'undoing');

-- name: ListProgress :many
-- Signs of life of a deployment's steps that are under way.
SELECT r.number AS run, s.key, s.progress FROM run_steps s JOIN runs r ON r.id = s.run_id
WHERE r.deployment_id = @deployment_id AND s.progress IS NOT NULL
    AND s.status IN ('pending', 'pulling', 'running', 'undoing');

-- name: GetTarget :one
-- A project with its current pipeline, as a new run needs it.
SELECT p.id, p.name, p.cpu, p.memory_mib, p.placement, p.environments, v.version, v.pipeline
FROM projects p
JOIN LATERAL (SELECT * FROM pipeline_versions v WHERE v.project_id = p.id
    ORDER BY v.version DESC LIMIT 1) v ON true
WHERE p.name = @name;

-- name: GetProjectIdentity :one
-- A project that may have no pipeline yet.
SELECT id, name, environments FROM projects WHERE name = @name;

-- name: GetEnvironmentIdentity :one
-- The environment of a new deployment.
SELECT id, name, domain, restricted, placement FROM environments WHERE name = @name;

-- name: ListSecretNames :many
-- The secrets a pipeline may refer to.
SELECT name FROM secrets WHERE project_id = @project_id ORDER BY name;

-- name: GetLeaseEpoch :one
-- The epoch of whoever commands the node now, for connections beside the session.
SELECT epoch FROM node_leases WHERE node_id = @node_id;

-- name: SetBuild :exec
-- What an incompatible agent runs, for people.
UPDATE nodes SET build = @build WHERE id = @id;

-- name: ListDeploymentStates :many
-- Of which version of its rows each of some deployments is what it is.
SELECT id, state FROM deployment_states WHERE id = ANY(@ids::uuid[]);
