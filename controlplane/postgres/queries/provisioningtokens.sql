-- name: InsertProvisioningToken :exec
-- A token that nobody has used yet.
INSERT INTO provisioning_tokens (prefix, hash, description, environment_id, template, settings,
    name_pattern, max_uses, created_by, created_at, expires_at)
VALUES (@prefix, @hash, @description, @environment_id, sqlc.narg(template), @settings,
    @name_pattern, @max_uses, @created_by, @created_at, @expires_at);

-- name: GetProvisioningTokenHash :one
-- What the token that a machine shows is compared with.
SELECT hash FROM provisioning_tokens WHERE prefix = @prefix;

-- name: LockProvisioningToken :one
-- The token that a machine has shown. Of two machines at once, one waits for the other, so that
-- uses are counted.
SELECT sqlc.embed(t), e.name AS environment FROM provisioning_tokens t
    JOIN environments e ON e.id = t.environment_id
WHERE t.prefix = @prefix FOR UPDATE OF t;

-- name: ListProvisioningTokens :many
-- One page by prefix.
SELECT sqlc.embed(t), e.name AS environment FROM provisioning_tokens t
    JOIN environments e ON e.id = t.environment_id
WHERE t.prefix > @after ORDER BY t.prefix LIMIT @most;

-- name: UseProvisioningToken :exec
-- One use more; the limit is a constraint of the table.
UPDATE provisioning_tokens SET uses = uses + 1, last_used_at = @at WHERE prefix = @prefix;

-- name: RevokeProvisioningToken :execrows
-- Ends a token. The first time counts.
UPDATE provisioning_tokens SET revoked_at = coalesce(revoked_at, @at) WHERE prefix = @prefix;

-- name: InsertNodeEnrolment :exec
-- Whose key the node's agent has.
INSERT INTO node_enrolments (node_id, token, public_key) VALUES (@node_id, @token, @public_key);

-- name: GetNodeEnrolment :one
-- The node that a key enrolled as.
SELECT node_id, token FROM node_enrolments WHERE public_key = @public_key;

-- name: LockNodeNames :exec
-- Names of nodes are chosen by one at a time.
SELECT pg_advisory_xact_lock(7311096);

-- name: ListTakenNodeNames :many
-- Which of these names nodes have.
SELECT name FROM nodes WHERE name = ANY(@names::text[]);

-- name: GetNodeNameByAddress :one
-- Who is at an address.
SELECT name FROM nodes WHERE address = @address;
