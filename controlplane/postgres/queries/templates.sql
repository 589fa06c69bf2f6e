-- name: ListTemplates :many
-- A project's templates, by name.
SELECT * FROM templates WHERE project_id = @project_id ORDER BY name;

-- name: GetTemplate :one
-- One of them.
SELECT * FROM templates WHERE project_id = @project_id AND name = @name;

-- name: PutTemplate :exec
-- Who saves last is named.
INSERT INTO templates (project_id, name, data, updated_by)
VALUES (@project_id, @name, @data, @updated_by)
ON CONFLICT (project_id, name) DO UPDATE
SET data = excluded.data, updated_by = excluded.updated_by, updated_at = now();

-- name: DeleteTemplate :execrows
-- Deployments made with it stay as they are.
DELETE FROM templates WHERE project_id = @project_id AND name = @name;
