-- name: GetUser :one
-- A person by name, for pages and for signing in.
SELECT sqlc.embed(u), ARRAY(SELECT t.name FROM memberships m JOIN teams t ON t.id = m.team_id
    WHERE m.user_id = u.id ORDER BY t.name)::text[] AS teams
FROM users u WHERE u.name = @name;

-- name: GetUserByID :one
-- A person by id, for sessions and tokens.
SELECT sqlc.embed(u), ARRAY(SELECT t.name FROM memberships m JOIN teams t ON t.id = m.team_id
    WHERE m.user_id = u.id ORDER BY t.name)::text[] AS teams
FROM users u WHERE u.id = @id;

-- name: ListUsers :many
-- People by name, one page, forwards or backwards.
SELECT sqlc.embed(u), ARRAY(SELECT t.name FROM memberships m JOIN teams t ON t.id = m.team_id
    WHERE m.user_id = u.id ORDER BY t.name)::text[] AS teams
FROM users u WHERE @after::text = '' OR u.name < @after AND @backwards::boolean
    OR u.name > @after AND NOT @backwards
ORDER BY CASE WHEN @backwards THEN u.name END DESC, u.name LIMIT @most;

-- name: InsertUser :exec
-- A new person.
INSERT INTO users (id, name, display_name, role, active, password_hash, kind, address)
VALUES (@id, @name, @display_name, @role, @active, sqlc.narg(password_hash), @kind, @address);

-- name: UpdateUser :exec
-- What an admin changes about a person.
UPDATE users SET display_name = @display_name, role = @role, active = @active, address = @address
WHERE id = @id;

-- name: SetPassword :exec
-- A new password, as its hash.
UPDATE users SET password_hash = @password_hash WHERE id = @id;

-- name: NoteSignIn :exec
-- When the person last signed in, for the list of users.
UPDATE users SET last_sign_in_at = @at WHERE id = @id;

-- name: DeleteUser :execrows
-- Sessions, tokens and memberships go along.
DELETE FROM users WHERE id = @id;

-- name: CountUsers :one
-- The first start is the one without anybody.
SELECT count(*) FROM users;

-- name: LockAdmins :many
-- Locks all admins, so that two requests cannot take away the last two.
-- A service user is none of them: it cannot sign in to give the role back.
SELECT id FROM users WHERE role = 'admin' AND active AND kind = 'person' ORDER BY id FOR UPDATE;

-- name: LockUsers :exec
-- One first admin, also when two control planes start at once.
LOCK TABLE users IN SHARE ROW EXCLUSIVE MODE;

-- name: InsertSession :exec
-- A signed-in browser.
INSERT INTO sessions (id, user_id, hash, created_at, last_used_at, expires_at, origin, device,
    method, confirmed_at)
VALUES (@id, @user_id, @hash, @created_at, @created_at, @expires_at, @origin, @device,
    @method, @confirmed_at);

-- name: ListSessions :many
-- A person's own sessions that still open something, the last used first.
SELECT * FROM sessions WHERE user_id = @user_id AND last_used_at > @idle_since
    AND expires_at > @now ORDER BY last_used_at DESC, id;

-- name: DeleteOwnSession :execrows
-- Ends one session; only the owner's own.
DELETE FROM sessions WHERE id = @id AND user_id = @user_id;

-- name: GetSession :one
-- The session whose id has this hash, unless it was idle or lasted too long.
SELECT * FROM sessions WHERE hash = @hash AND last_used_at > @idle_since AND expires_at > @now;

-- name: TouchSession :exec
-- Keeps a used session from going idle.
UPDATE sessions SET last_used_at = @at WHERE id = @id;

-- name: DeleteSession :exec
-- Signing out.
DELETE FROM sessions WHERE id = @id;

-- name: DeleteSessionsOfUser :exec
-- Ends all sessions of a person but the one that must stay.
DELETE FROM sessions WHERE user_id = @user_id AND id IS DISTINCT FROM sqlc.narg(keep)::uuid;

-- name: DeleteDeadSessions :execrows
-- Sessions that no longer open anything, some at a time: nobody waits long.
DELETE FROM sessions WHERE id IN (SELECT s.id FROM sessions s
    WHERE s.last_used_at <= @idle_since OR s.expires_at <= @now LIMIT @most);

-- name: InsertToken :exec
-- An API token, as its hash.
INSERT INTO api_tokens (id, user_id, name, prefix, hash, created_at, scope, expires_at)
VALUES (@id, @user_id, @name, @prefix, @hash, @created_at, @scope, sqlc.narg(expires_at));

-- name: GetToken :one
-- Found by the public part; the caller compares the hash in constant time.
SELECT * FROM api_tokens WHERE prefix = @prefix;

-- name: ListTokens :many
-- A person's own tokens.
SELECT * FROM api_tokens WHERE user_id = @user_id ORDER BY created_at, id;

-- name: TouchToken :exec
-- When it was last used, for its owner to see.
UPDATE api_tokens SET last_used_at = @at WHERE id = @id;

-- name: DeleteToken :execrows
-- Only the owner's own.
DELETE FROM api_tokens WHERE id = @id AND user_id = @user_id;

-- name: DeleteTokensOfUser :exec
-- A person who may no longer sign in leaves no token behind.
DELETE FROM api_tokens WHERE user_id = @user_id;

-- name: GetTeam :one
-- A team by name.
SELECT * FROM teams WHERE name = @name;

-- name: ListTeams :many
-- Teams by name, one page; of one person, unless all are asked for.
SELECT * FROM teams t WHERE t.name > @after AND (@everyone::boolean OR EXISTS (
    SELECT FROM memberships m WHERE m.team_id = t.id AND m.user_id = sqlc.narg(user_id)))
ORDER BY t.name LIMIT @most;

-- name: InsertTeam :exec
-- A new team.
INSERT INTO teams (id, name, description, second_factor, verdicts)
VALUES (@id, @name, @description, @second_factor, @verdicts);

-- name: UpdateTeam :exec
-- What an admin changes about a team itself.
UPDATE teams SET description = @description, second_factor = @second_factor,
    verdicts = @verdicts WHERE id = @id;

-- name: DeleteTeam :exec
-- Memberships and grants go along.
DELETE FROM teams WHERE id = @id;

-- name: ListMembers :many
-- Names of the members.
SELECT u.name FROM memberships m JOIN users u ON u.id = m.user_id
WHERE m.team_id = @team_id ORDER BY u.name;

-- name: ClearMembers :exec
-- The new list replaces the old one.
DELETE FROM memberships WHERE team_id = @team_id;

-- name: AddMember :execrows
-- By name; nothing happens when there is nobody of that name.
INSERT INTO memberships (team_id, user_id) SELECT @team_id, id FROM users WHERE name = @name;

-- name: ListTeamGrants :many
-- A team's grants with names; exactly one of the names is there.
SELECT coalesce(p.name, '')::text AS project, coalesce(e.name, '')::text AS environment, g.level
FROM grants g LEFT JOIN projects p ON p.id = g.project_id
    LEFT JOIN environments e ON e.id = g.environment_id
WHERE g.team_id = @team_id ORDER BY p.name NULLS LAST, e.name;

-- name: ClearGrants :exec
-- The new list replaces the old one.
DELETE FROM grants WHERE team_id = @team_id;

-- name: GrantProject :execrows
-- By name; nothing happens when there is no such project.
INSERT INTO grants (team_id, project_id, level)
SELECT @team_id, id, @level FROM projects WHERE name = @name;

-- name: GrantEnvironment :execrows
-- By name; nothing happens when there is no such environment.
INSERT INTO grants (team_id, environment_id, level)
SELECT @team_id, id, @level FROM environments WHERE name = @name;

-- name: ListGrantsOfUser :many
-- All grants of all teams of a person: what every decision is made from.
SELECT g.project_id, g.environment_id, g.level, t.verdicts FROM grants g
    JOIN memberships m ON m.team_id = g.team_id JOIN teams t ON t.id = g.team_id
WHERE m.user_id = @user_id;

-- name: GetUserForAccess :one
-- What a decision about a person needs: no hash, so that the ingress's role may ask it.
SELECT id, name, role, active FROM users WHERE id = @id;
