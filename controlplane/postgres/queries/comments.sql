-- name: InsertComment :exec
-- What somebody says about a deployment.
INSERT INTO deployment_comments (id, deployment_id, user_id, author, body, mentions)
VALUES (@id, @deployment_id, @user_id, @author, @body, @mentions);

-- name: ListComments :many
-- A deployment's comments, oldest first.
SELECT * FROM deployment_comments WHERE deployment_id = @deployment_id ORDER BY id LIMIT @most;

-- name: GetComment :one
-- One comment of a deployment.
SELECT * FROM deployment_comments WHERE id = @id AND deployment_id = @deployment_id;

-- name: DeleteComment :exec
-- Taken back by its author or an admin.
DELETE FROM deployment_comments WHERE id = @id;

-- name: CountComments :one
-- How many a deployment has, and how many of them, or of others, a person wrote lately.
SELECT count(*) FILTER (WHERE deployment_id = @deployment_id) AS here,
    count(*) FILTER (WHERE user_id = @user_id AND at > @since) AS lately
FROM deployment_comments
WHERE deployment_id = @deployment_id OR user_id = @user_id AND at > @since;

-- name: ListPeopleNear :many
-- People who may see a deployment, and some who may not: those with the role or with any grant on
-- its project or environment. Access decides about each.
SELECT u.id, u.name, u.display_name, u.role, u.active FROM users u
WHERE u.active AND u.kind = 'person' AND starts_with(u.name, @prefix::text) AND (
    u.role = 'admin' OR EXISTS (
        SELECT FROM memberships m JOIN grants g ON g.team_id = m.team_id
        WHERE m.user_id = u.id
            AND (g.project_id = @project_id OR g.environment_id = @environment_id)))
ORDER BY u.name LIMIT @most;

-- name: ListPeopleNamed :many
-- Those of these names who may still sign in.
SELECT u.id, u.name, u.display_name, u.role, u.active FROM users u
WHERE u.active AND u.kind = 'person' AND u.name = ANY(@names::text[]) ORDER BY u.name;
