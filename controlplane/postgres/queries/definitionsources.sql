-- name: ListDefinitionSources :many
-- Sources by name, one page.
SELECT * FROM definition_sources WHERE name > @after ORDER BY name LIMIT @most;

-- name: GetDefinitionSource :one
-- A source by name.
SELECT * FROM definition_sources WHERE name = @name;

-- name: LockDefinitionSource :one
-- A source by name, which nobody else changes until the transaction ends.
SELECT * FROM definition_sources WHERE name = @name FOR UPDATE;

-- name: PutDefinitionSource :exec
-- Inserts, or replaces what an admin says about it, and has it looked at now.
INSERT INTO definition_sources (id, name, url, branch, folder, username, ca, period_minutes, mode,
    removes, kinds, webhook, active, owner, owner_id, generation)
VALUES (@id, @name, @url, @branch, @folder, @username, @ca, @period_minutes, @mode, @removes,
    @kinds, @webhook, @active, @owner, sqlc.narg('owner_id'), @generation)
ON CONFLICT (id) DO UPDATE SET url = excluded.url, branch = excluded.branch,
    folder = excluded.folder, username = excluded.username, ca = excluded.ca,
    period_minutes = excluded.period_minutes, mode = excluded.mode, removes = excluded.removes,
    kinds = excluded.kinds, webhook = excluded.webhook, active = excluded.active,
    owner = excluded.owner, owner_id = excluded.owner_id, generation = excluded.generation,
    due_at = now();

-- name: DeleteDefinitionSource :exec
-- With the text of its documents; what they define stays.
DELETE FROM definition_sources WHERE id = @id;

-- name: ForgetOwnedDefinitions :exec
-- What a set of documents held is nobody's from now on.
DELETE FROM definition_owners WHERE owner = @owner;

-- name: WakeDefinitionSource :execrows
-- Has a source looked at now.
UPDATE definition_sources SET due_at = now() WHERE id = @id AND active;

-- name: ClaimDefinitionSources :many
-- What is due, taken for as long as a look may last. A claim that lasts too long is from before the
-- clock was set back.
UPDATE definition_sources SET claimed_until = now() + make_interval(secs => @hold::float8)
WHERE id IN (
    SELECT s.id FROM definition_sources s
    WHERE s.due_at <= now() AND s.active
        AND (s.claimed_until IS NULL OR s.claimed_until < now()
            OR s.claimed_until > now() + make_interval(secs => 2 * @hold::float8))
    ORDER BY s.due_at LIMIT @most FOR UPDATE SKIP LOCKED)
RETURNING *;

-- name: ClaimDefinitionSource :one
-- One source, whether it is due or not. No row means that somebody else has it.
UPDATE definition_sources SET claimed_until = now() + make_interval(secs => @hold::float8)
WHERE id = @id AND (claimed_until IS NULL OR claimed_until < now()
    OR claimed_until > now() + make_interval(secs => 2 * @hold::float8))
RETURNING *;

-- name: SaveDefinitionSource :exec
-- What a look found, and when the next one is due, unless somebody asked for one meanwhile.
UPDATE definition_sources SET status = @status, state = @state, claimed_until = NULL,
    due_at = CASE WHEN due_at > @began AND due_at <= now() THEN due_at ELSE @due_at END
WHERE id = @id;

-- name: PutDefinitionSourceFiles :exec
-- The text of the documents at a commit.
INSERT INTO definition_source_files (source_id, commit, files) VALUES (@source_id, @commit, @files)
ON CONFLICT (source_id, commit) DO UPDATE SET files = excluded.files;

-- name: GetDefinitionSourceFiles :one
-- The text of the documents at a commit.
SELECT files FROM definition_source_files WHERE source_id = @source_id AND commit = @commit;

-- name: KeepDefinitionSourceFiles :exec
-- Forgets the text of all other commits.
DELETE FROM definition_source_files WHERE source_id = @source_id
    AND NOT (commit = ANY (@commits::text[]));
