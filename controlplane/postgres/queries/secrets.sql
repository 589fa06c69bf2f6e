-- name: GetSecret :one
-- A project's secret by name; the value is sealed.
SELECT * FROM secrets WHERE project_id = @project_id AND name = @name;

-- name: ListSecrets :many
-- A project's secrets by name; the values are sealed.
SELECT * FROM secrets WHERE project_id = @project_id ORDER BY name;

-- name: PutSecret :exec
-- Inserts, or replaces the one of that id.
INSERT INTO secrets (id, project_id, name, version, value, length, alphabet, pattern, vault_path,
    vault_field, updated_at)
VALUES (@id, @project_id, @name, @version, @value, sqlc.narg(length), sqlc.narg(alphabet),
    sqlc.narg(pattern), sqlc.narg(vault_path), sqlc.narg(vault_field), @updated_at)
ON CONFLICT (id) DO UPDATE SET version = excluded.version, value = excluded.value,
    length = excluded.length, alphabet = excluded.alphabet, pattern = excluded.pattern,
    vault_path = excluded.vault_path, vault_field = excluded.vault_field,
    updated_at = excluded.updated_at;

-- name: DeleteSecret :exec
-- The use case has checked that no pipeline refers to it.
DELETE FROM secrets WHERE id = @id;

-- name: TouchSecrets :exec
-- When values were last handed to a node.
UPDATE secrets SET last_used_at = @at WHERE project_id = @project_id AND name = ANY(@names::text[]);

-- name: ListDeploymentSecrets :many
-- Values generated for one deployment, sealed.
SELECT name, sealed FROM deployment_secrets WHERE deployment_id = @deployment_id ORDER BY name;

-- name: InsertDeploymentSecret :execrows
-- The first value stays: a deployment's generated secrets never change.
INSERT INTO deployment_secrets (deployment_id, name, sealed) VALUES (@deployment_id, @name, @sealed)
ON CONFLICT (deployment_id, name) DO NOTHING;

-- name: ListKeyChecks :many
-- The known text under each key that was ever first.
SELECT kid, sealed FROM key_check ORDER BY created_at;

-- name: InsertKeyCheck :exec
-- A key that is first for the first time.
INSERT INTO key_check (kid, sealed) VALUES (@kid, @sealed) ON CONFLICT (kid) DO NOTHING;

-- name: GetIdentity :one
-- The control plane's own certificate, and its key, sealed.
SELECT certificate, key FROM identity;

-- name: InsertIdentity :execrows
-- The first one stays: every token names it.
INSERT INTO identity (certificate, key) VALUES (@certificate, @key) ON CONFLICT (one) DO NOTHING;

-- name: ListRunSecrets :many
-- The values that a run uses, sealed.
SELECT name, sealed FROM run_secrets WHERE run_id = @run_id ORDER BY name;

-- name: InsertRunSecret :execrows
-- The first value stays: those of a run never change.
INSERT INTO run_secrets (run_id, deployment_id, name, sealed)
VALUES (@run_id, @deployment_id, @name, @sealed)
ON CONFLICT (run_id, name) DO NOTHING;

-- name: DeleteRunSecrets :exec
-- Nothing of the deployment is left that could use them.
DELETE FROM run_secrets WHERE deployment_id = @deployment_id;

-- name: ListLiveRunsWithText :many
-- The latest run of each deployment that is not gone, if its pipeline holds the
-- text somewhere. The use case looks closer.
SELECT d.name, r.pipeline FROM deployments d
CROSS JOIN LATERAL (SELECT x.pipeline FROM runs x WHERE x.deployment_id = d.id
    ORDER BY x.number DESC LIMIT 1) r
WHERE d.project_id = @project_id AND d.status NOT IN ('canceled', 'removed', 'forgotten')
    AND position(@text::text IN r.pipeline::text) > 0
ORDER BY d.name, d.id;
