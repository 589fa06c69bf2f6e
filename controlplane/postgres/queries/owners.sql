-- name: ListDefinitionsOfOwner :many
-- What a named set of documents holds.
SELECT kind, name FROM definition_owners WHERE owner = @owner ORDER BY kind, name;

-- name: GetDefinitionOwner :one
-- Which set holds one definition.
SELECT owner FROM definition_owners WHERE kind = @kind AND name = @name;

-- name: PutDefinitionOwner :exec
-- A definition has one owner: the set that took it last.
INSERT INTO definition_owners (kind, name, owner) VALUES (@kind, @name, @owner)
ON CONFLICT (kind, name) DO UPDATE SET owner = excluded.owner, recorded_at = now();
