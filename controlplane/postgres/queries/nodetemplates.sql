-- name: GetNodeTemplate :one
-- A template by name, with the number of its nodes.
SELECT sqlc.embed(t), (SELECT count(*) FROM nodes n WHERE n.template = t.name)::integer AS nodes
FROM node_templates t WHERE t.name = @name;

-- name: ListNodeTemplates :many
-- Templates by name, one page.
SELECT sqlc.embed(t), (SELECT count(*) FROM nodes n WHERE n.template = t.name)::integer AS nodes
FROM node_templates t WHERE t.name > @after ORDER BY t.name LIMIT @most;

-- name: PutNodeTemplate :exec
-- Inserts, or replaces the one of that name.
INSERT INTO node_templates (name, description, settings) VALUES (@name, @description, @settings)
ON CONFLICT (name) DO UPDATE SET description = excluded.description, settings = excluded.settings;

-- name: DeleteNodeTemplate :exec
-- Impossible while nodes use it.
DELETE FROM node_templates WHERE name = @name;

-- name: LockNodesOfTemplate :many
-- The nodes that follow a template.
SELECT id, name, connect, address, own_settings FROM nodes WHERE template = @template::text
ORDER BY id FOR UPDATE;
