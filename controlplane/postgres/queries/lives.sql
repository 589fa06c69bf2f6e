-- name: ListLives :many
-- What people did to the lives of these deployments.
SELECT * FROM deployment_lives WHERE deployment_id = ANY(@ids::uuid[]);

-- name: ListLifetimes :many
-- How many hours without activity each of them has; zero is for ever. And
-- whether visits are none. A scratch deployment has one hour, as in deployment_expiries.
SELECT d.id, (CASE WHEN l.scratch THEN 1
    ELSE coalesce(l.lifetime_hours, p.cleanup_after_hours, e.cleanup_after_hours)
    END)::integer AS hours,
    e.ignore_visits
FROM deployments d
JOIN projects p ON p.id = d.project_id
JOIN environments e ON e.id = d.environment_id
LEFT JOIN deployment_lives l ON l.deployment_id = d.id
WHERE d.id = ANY(@ids::uuid[]);

-- name: PutOrigin :exec
-- What it was made from.
INSERT INTO deployment_lives (deployment_id, cloned_from, cloned_name)
VALUES (@deployment_id, @cloned_from, @cloned_name)
ON CONFLICT (deployment_id) DO UPDATE
SET cloned_from = excluded.cloned_from, cloned_name = excluded.cloned_name;

-- name: PutHold :exec
-- Somebody keeps it.
INSERT INTO deployment_lives (deployment_id, hold_owner, hold_reason, hold_since, hold_until)
VALUES (@deployment_id, @owner, @reason, now(), sqlc.narg(until))
ON CONFLICT (deployment_id) DO UPDATE
SET hold_owner = excluded.hold_owner, hold_reason = excluded.hold_reason,
    hold_since = excluded.hold_since, hold_until = excluded.hold_until;

-- name: EndHold :exec
-- Nobody keeps it any more.
UPDATE deployment_lives SET hold_owner = '', hold_reason = '', hold_since = NULL, hold_until = NULL
WHERE deployment_id = @deployment_id;

-- name: PutRemover :exec
-- Who had it removed first.
INSERT INTO deployment_lives (deployment_id, removed_by, removed_at)
VALUES (@deployment_id, @removed_by, now())
ON CONFLICT (deployment_id) DO UPDATE
SET removed_by = excluded.removed_by, removed_at = excluded.removed_at
WHERE deployment_lives.removed_by = '';

-- name: InsertActivity :exec
-- One thing that reset the countdown.
INSERT INTO deployment_activity (deployment_id, kind, by_name)
VALUES (@deployment_id, @kind, @by_name);

-- name: TouchVisited :execrows
-- Somebody used it: the countdown begins anew, where visits count. Nothing else
-- is visited, or it is on its way out.
UPDATE deployments d SET active_at = now() FROM environments e
WHERE d.id = @id AND e.id = d.environment_id AND NOT e.ignore_visits
    AND d.want = 'present' AND d.status = 'ready';

-- name: ProlongVisit :execrows
-- Visits one after the other are one line, with the time of the last.
UPDATE deployment_activity SET at = now()
WHERE id = (SELECT max(a.id) FROM deployment_activity a WHERE a.deployment_id = @deployment_id)
    AND kind = 'visited' AND at > now() - interval '1 hour';

-- name: ListActivity :many
-- The newest come first.
SELECT * FROM deployment_activity WHERE deployment_id = @deployment_id ORDER BY id DESC LIMIT @most;

-- name: ListExpiring :many
-- Those that end within a day or an hour, and of which nobody was told yet. A
-- rule as short as the notice makes none.
SELECT id, expires_at::timestamptz AS expires_at,
    (CASE WHEN expires_at <= now() + interval '1 hour' THEN 1 ELSE 24 END)::integer AS notice
FROM deployment_expiries
WHERE expires_at > now() AND expires_at <= now() + interval '24 hours'
    AND hours > CASE WHEN expires_at <= now() + interval '1 hour' THEN 1 ELSE 24 END
    AND (noticed_for IS DISTINCT FROM expires_at
        OR noticed_hours > CASE WHEN expires_at <= now() + interval '1 hour' THEN 1 ELSE 24 END)
ORDER BY expires_at LIMIT @most;

-- name: GetSoonestEnd :one
-- Which deployment on some nodes ends by itself first, and in how many seconds.
SELECT x.id, extract(epoch FROM x.expires_at - now())::float8 AS seconds
FROM deployment_expiries x JOIN deployments d ON d.id = x.id
WHERE d.node_id = ANY(@nodes::uuid[]) AND x.expires_at > now()
ORDER BY x.expires_at LIMIT 1;

-- name: ListRemovable :many
-- What has room on a node of the environment and is not held by others, within some projects or
-- all: the actor's own first, then what was used longest ago.
SELECT d.id, d.name, d.project_id, d.created_by, d.node_id, e.restricted, d.cpu, d.memory_mib,
    d.gpus, d.vram_mib, extract(epoch FROM now() - d.active_at)::float8 AS idle_seconds
FROM node_goals g
JOIN deployments d ON d.id = g.deployment_id AND d.node_id = g.node_id
JOIN environments e ON e.id = d.environment_id
LEFT JOIN deployment_lives l ON l.deployment_id = d.id
WHERE d.environment_id = @environment_id AND d.want = 'present'
    AND (@everything::boolean OR d.project_id = ANY(@projects::uuid[]))
    AND (l.hold_since IS NULL OR l.hold_until <= now() OR l.hold_owner = @actor)
ORDER BY (d.created_by = @actor) DESC, d.active_at, d.id
LIMIT @most;

-- name: PutNotice :execrows
-- No row means that somebody gave the same notice already.
INSERT INTO deployment_lives (deployment_id, noticed_hours, noticed_for)
VALUES (@deployment_id, @hours, @expires_at)
ON CONFLICT (deployment_id) DO UPDATE
SET noticed_hours = excluded.noticed_hours, noticed_for = excluded.noticed_for
WHERE deployment_lives.noticed_for IS DISTINCT FROM excluded.noticed_for
    OR deployment_lives.noticed_hours > excluded.noticed_hours;

-- name: DeleteTombstones :execrows
-- What has been gone for so long is forgotten, with its runs and logs. What another
-- node still has to clear is not: that node's data would be of a deployment that
-- nobody knows.
DELETE FROM deployments WHERE id IN (SELECT d.id FROM deployments d
    WHERE d.status IN ('canceled', 'removed', 'forgotten') AND d.changed_at < @before
        AND NOT EXISTS (SELECT FROM relocations r WHERE r.deployment_id = d.id)
    ORDER BY d.changed_at LIMIT @most);

-- name: PutScratch :exec
-- It runs what nobody published.
INSERT INTO deployment_lives (deployment_id, scratch) VALUES (@deployment_id, true)
ON CONFLICT (deployment_id) DO UPDATE SET scratch = true;

-- name: PutKnownAs :exec
-- The name that its services are told.
INSERT INTO deployment_lives (deployment_id, known_as) VALUES (@deployment_id, @known_as)
ON CONFLICT (deployment_id) DO UPDATE SET known_as = excluded.known_as;

-- name: PutLifetime :exec
-- How long it lives, whatever its project and environment say.
INSERT INTO deployment_lives (deployment_id, lifetime_hours) VALUES (@deployment_id, @hours)
ON CONFLICT (deployment_id) DO UPDATE SET lifetime_hours = excluded.lifetime_hours;

-- name: PutDataFrom :exec
-- Whose volumes a deployment begins with.
INSERT INTO deployment_lives (deployment_id, data_from) VALUES (@deployment_id, @data_from)
ON CONFLICT (deployment_id) DO UPDATE SET data_from = excluded.data_from;

-- name: GetDataFrom :one
-- Whose volumes a deployment begins with; empty for its own.
SELECT coalesce((SELECT l.data_from::text FROM deployment_lives l
    WHERE l.deployment_id = @deployment_id), '')::text;

-- name: SetDataMoved :exec
-- What was in its volumes went on to its successor.
INSERT INTO deployment_lives (deployment_id, data_moved) VALUES (@deployment_id, true)
ON CONFLICT (deployment_id) DO UPDATE SET data_moved = true;

-- name: PutSuccessor :exec
-- A newer deployment has its hosts from now on, and those of all whose hosts it had.
UPDATE deployment_lives SET successor_id = @successor_id,
    replaced_at = coalesce(replaced_at, now())
WHERE deployment_id = @deployment_id OR successor_id = @deployment_id;

-- name: InheritSuccession :exec
-- A deployment that moved by being made again stands where the first one stood.
INSERT INTO deployment_lives (deployment_id, known_as, successor_id, replaced_at)
SELECT @deployment_id, l.known_as, l.successor_id, l.replaced_at FROM deployment_lives l
WHERE l.deployment_id = @from_id
ON CONFLICT (deployment_id) DO UPDATE SET known_as = excluded.known_as,
    successor_id = excluded.successor_id, replaced_at = excluded.replaced_at;

-- name: RepointSuccessor :exec
-- Those that a deployment replaced were replaced by the one that it is now.
UPDATE deployment_lives SET successor_id = @deployment_id WHERE successor_id = @from_id;

-- name: ListSuccession :many
-- The deployments that share hosts with these, before or after them.
SELECT DISTINCT (CASE WHEN l.successor_id = ANY(@ids::uuid[]) THEN l.deployment_id
    ELSE l.successor_id END)::uuid AS id
FROM deployment_lives l
WHERE l.successor_id IS NOT NULL
    AND (l.successor_id = ANY(@ids::uuid[]) OR l.deployment_id = ANY(@ids::uuid[]));

-- name: ListFormers :many
-- What a deployment replaced and is there still, the oldest first.
SELECT d.id, d.name, l.replaced_at::timestamptz AS replaced_at,
    (l.hold_since IS NOT NULL AND (l.hold_until IS NULL OR l.hold_until > now()))::boolean AS held
FROM deployment_lives l JOIN deployments d ON d.id = l.deployment_id
WHERE l.successor_id = @successor_id AND l.replaced_at IS NOT NULL AND d.want = 'present'
    AND d.status NOT IN ('canceled', 'removed', 'forgotten')
ORDER BY l.replaced_at, d.id;

-- name: RenameDeployment :exec
-- It changes places with another one.
UPDATE deployments SET name = @name WHERE id = @id;

-- name: CopyDeploymentGate :exec
-- Who may open one may open the other.
INSERT INTO deployment_gates (deployment_id, gate)
SELECT @deployment_id, g.gate FROM deployment_gates g WHERE g.deployment_id = @from_id
ON CONFLICT (deployment_id) DO NOTHING;

-- name: MovePasses :exec
-- Who was let in to one is let in to the other.
UPDATE gate_passes SET deployment_id = @deployment_id WHERE deployment_id = @from_id;
