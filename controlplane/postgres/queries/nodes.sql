-- name: GetNode :one
-- A node by name, with its token and what is placed on it.
SELECT sqlc.embed(n), e.name AS environment, e.capacity,
    coalesce((SELECT t.kid FROM node_tokens t WHERE t.node_id = n.id AND t.revoked_at IS NULL),
        '')::text AS kid,
    EXISTS (SELECT FROM node_tokens t WHERE t.node_id = n.id AND t.revocation_pending)::boolean
        AS revocation_pending,
    (SELECT coalesce(sum(d.cpu), 0) FROM deployments d WHERE d.node_id = n.id
        AND d.status NOT IN ('canceled', 'removed', 'forgotten'))::double precision AS cpu,
    (SELECT coalesce(sum(d.memory_mib), 0) FROM deployments d WHERE d.node_id = n.id
        AND d.status NOT IN ('canceled', 'removed', 'forgotten'))::bigint AS memory_mib,
    (SELECT count(*) FROM deployments d WHERE d.node_id = n.id
        AND d.status NOT IN ('canceled', 'removed', 'forgotten'))::integer AS deployments
FROM nodes n JOIN environments e ON e.id = n.environment_id
WHERE n.name = sqlc.narg(name) OR n.id = sqlc.narg(id);

-- name: ListNodes :many
-- Nodes by name, one page, forwards or backwards, with their tokens and what is placed on them.
SELECT sqlc.embed(n), e.name AS environment, e.capacity,
    coalesce((SELECT t.kid FROM node_tokens t WHERE t.node_id = n.id AND t.revoked_at IS NULL),
        '')::text AS kid,
    EXISTS (SELECT FROM node_tokens t WHERE t.node_id = n.id AND t.revocation_pending)::boolean
        AS revocation_pending,
    (SELECT coalesce(sum(d.cpu), 0) FROM deployments d WHERE d.node_id = n.id
        AND d.status NOT IN ('canceled', 'removed', 'forgotten'))::double precision AS cpu,
    (SELECT coalesce(sum(d.memory_mib), 0) FROM deployments d WHERE d.node_id = n.id
        AND d.status NOT IN ('canceled', 'removed', 'forgotten'))::bigint AS memory_mib,
    (SELECT count(*) FROM deployments d WHERE d.node_id = n.id
        AND d.status NOT IN ('canceled', 'removed', 'forgotten'))::integer AS deployments
FROM nodes n JOIN environments e ON e.id = n.environment_id
WHERE @after::text = '' OR n.name < @after AND @backwards::boolean
    OR n.name > @after AND NOT @backwards
ORDER BY CASE WHEN @backwards THEN n.name END DESC, n.name LIMIT @most;

-- name: InsertNode :exec
-- A machine nobody has met yet.
INSERT INTO nodes (id, name, environment_id, connect, address, expected, settings, template,
    own_settings)
VALUES (@id, @name, @environment_id, @connect, @address, @expected, @settings, @template,
    @own_settings);

-- name: SetNodeSettings :exec
-- What an admin decides about a node, as a whole, and where it is reached.
UPDATE nodes SET settings = @settings, connect = @connect, address = @address,
    template = @template, own_settings = @own_settings WHERE id = @id;

-- name: DeleteNode :execrows
-- Impossible while deployments are on it.
DELETE FROM nodes n WHERE n.id = @id AND NOT EXISTS (SELECT FROM deployments d
    WHERE d.node_id = n.id AND d.status NOT IN ('canceled', 'removed', 'forgotten'));

-- name: ListUsersOfNode :many
-- What stops a node from being removed.
SELECT ('deployment ' || d.name)::text FROM deployments d WHERE d.node_id = @id
    AND d.status NOT IN ('canceled', 'removed', 'forgotten')
UNION SELECT 'what deployment ' || d.name || ' has there, whose node is ' || d.node_name
FROM relocations r JOIN deployments d ON d.id = r.deployment_id WHERE r.node_id = @id
ORDER BY 1;

-- name: MoveNode :execrows
-- The one way to change a node's status. No row means that somebody was
-- faster. since moves only when the status does.
UPDATE nodes SET status = @status, detail = @detail,
    since = CASE WHEN status = @status THEN since ELSE now() END
WHERE id = @id AND status = ANY(@allowed::text[]);

-- name: TrustNode :execrows
-- First contact proved the token: from now on only this certificate counts.
UPDATE nodes SET thumbprint = @thumbprint, pending = '', pending_proof_valid = false
WHERE id = @id AND (thumbprint = '' OR thumbprint = @thumbprint);

-- name: SetPending :exec
-- Another certificate answered, with or without a valid proof of the token.
UPDATE nodes SET pending = @pending, pending_proof_valid = @proof_valid WHERE id = @id;

-- name: ApproveNode :execrows
-- A person trusts exactly the certificate they saw, and only a proven one.
UPDATE nodes SET thumbprint = pending, pending = '', pending_proof_valid = false
WHERE id = @id AND pending = @pending AND pending_proof_valid;

-- name: ForgetTrust :exec
-- A new token enrols anew: whoever holds it is met for the first time.
UPDATE nodes SET thumbprint = '', pending = '', pending_proof_valid = false WHERE id = @id;

-- name: SetInventory :exec
-- What the agent said about itself when it connected.
UPDATE nodes SET build = @build, inventory = @inventory WHERE id = @id;

-- name: SetVitals :exec
-- What the agent measured last.
UPDATE nodes SET vitals = @vitals WHERE id = @id;

-- name: InsertNodeToken :exec
-- A new credential; one per node is active.
INSERT INTO node_tokens (kid, node_id, verifier) VALUES (@kid, @node_id, @verifier);

-- name: RevokeNodeTokens :execrows
-- The active token of a node stops counting; pending until the agent knows.
UPDATE node_tokens SET revoked_at = now(), revocation_pending = @pending
WHERE node_id = @node_id AND revoked_at IS NULL;

-- name: GetActiveToken :one
-- The token that the control plane proves with.
SELECT * FROM node_tokens WHERE node_id = @node_id AND revoked_at IS NULL;

-- name: GetActiveTokenKid :one
-- The name of that token, for the ingress, which may not read the token.
SELECT kid FROM node_tokens WHERE node_id = @node_id AND revoked_at IS NULL;

-- name: ListPendingRevocationKids :many
-- The names of the tokens that the agent itself does not yet refuse, oldest first.
SELECT kid FROM node_tokens WHERE node_id = @node_id AND revocation_pending
ORDER BY created_at, kid;

-- name: ListPendingRevocations :many
-- Tokens that the agent itself does not yet refuse, oldest first.
SELECT * FROM node_tokens WHERE node_id = @node_id AND revocation_pending
ORDER BY created_at, kid;

-- name: ConfirmRevocation :exec
-- The agent has stored that it refuses the token.
UPDATE node_tokens SET revocation_pending = false WHERE kid = @kid AND node_id = @node_id;

-- name: ReleaseLease :exec
-- Gives the node to whoever asks next, without waiting for the end.
UPDATE node_leases SET expires_at = now() - interval '1 second'
WHERE node_id = @node_id AND holder = @holder;
