-- name: InsertLink :exec
-- A link that works once.
INSERT INTO links (id, kind, hash, user_id, address, role, teams, created_by, created_at, expires_at)
VALUES (@id, @kind, @hash, sqlc.narg(user_id), @address, @role, @teams, @created_by, @created_at,
    @expires_at);

-- name: TakeLink :one
-- Using a link is deleting it: of two at once, one gets it.
DELETE FROM links WHERE hash = @hash AND kind = @kind AND expires_at > @now
    AND lower(address) = lower(@address) RETURNING *;

-- name: ListInvitations :many
-- Invitations that were not used, the newest first.
SELECT * FROM links WHERE kind = 'invitation' AND expires_at > @now ORDER BY created_at DESC, id;

-- name: DeleteInvitation :execrows
-- Taken back before it was used.
DELETE FROM links WHERE id = @id AND kind = 'invitation';

-- name: DeleteInvitationsTo :exec
-- A new invitation replaces the one before.
DELETE FROM links WHERE kind = 'invitation' AND lower(address) = lower(@address);

-- name: DeleteLinksOfUser :exec
-- A new link, or a new password, ends the one before.
DELETE FROM links WHERE user_id = @user_id;

-- name: DeleteDeadLinks :execrows
-- Links that no longer open anything, some at a time.
DELETE FROM links WHERE id IN (SELECT l.id FROM links l WHERE l.expires_at <= @now LIMIT @most);

-- name: GetUserByIdentity :one
-- Whom an OpenID provider vouches for.
SELECT sqlc.embed(u), ARRAY(SELECT t.name FROM memberships m JOIN teams t ON t.id = m.team_id
    WHERE m.user_id = u.id ORDER BY t.name)::text[] AS teams
FROM users u WHERE u.issuer = @issuer::text AND u.subject = @subject::text;

-- name: SetIdentity :exec
-- From now on the provider vouches for this person.
UPDATE users SET issuer = @issuer::text, subject = @subject::text WHERE id = @id;

-- name: RemoveMember :exec
-- Takes a person off a team.
DELETE FROM memberships WHERE user_id = @user_id
    AND team_id = (SELECT id FROM teams WHERE name = @team);

-- name: JoinTeam :execrows
-- Puts a person on a team; nothing happens when there is no such team.
INSERT INTO memberships (team_id, user_id) SELECT id, @user_id FROM teams WHERE name = @team
ON CONFLICT DO NOTHING;

-- name: ListTeamGrantsOfUser :many
-- Every grant of a person with the team that gives it, for explanations.
SELECT t.name AS team, g.project_id, g.environment_id, g.level, t.verdicts,
    coalesce(p.name, '')::text AS project,
    coalesce(e.name, '')::text AS environment
FROM grants g JOIN teams t ON t.id = g.team_id JOIN memberships m ON m.team_id = t.id
    LEFT JOIN projects p ON p.id = g.project_id LEFT JOIN environments e ON e.id = g.environment_id
WHERE m.user_id = @user_id ORDER BY t.name, p.name NULLS LAST, e.name;

-- name: ListAdminNames :many
-- Who can give access, for whoever asks what is missing.
SELECT name FROM users WHERE role = 'admin' AND active AND kind = 'person' ORDER BY name LIMIT 20;

-- name: GetUserByAddress :one
-- Whom an admin wrote down with this e-mail address, and nobody vouches for yet.
SELECT sqlc.embed(u), ARRAY(SELECT t.name FROM memberships m JOIN teams t ON t.id = m.team_id
    WHERE m.user_id = u.id ORDER BY t.name)::text[] AS teams
FROM users u WHERE lower(u.address) = lower(@address) AND u.address <> '' AND u.issuer IS NULL
    AND u.kind = 'person';

-- name: LockObject :exec
-- Of two who change one object on condition, one waits for the other.
SELECT pg_advisory_xact_lock(hashtextextended(@object::text, 23));

-- name: AddressTaken :one
-- An address is one person's, whoever vouches for another one.
SELECT EXISTS (SELECT FROM users WHERE lower(address) = lower(@address) AND address <> '');
