-- name: PutNodeSSH :exec
-- How a machine is reached; what was there before is replaced as a whole.
INSERT INTO node_ssh (node_id, host, port, username, host_key, credential, forget, plan)
VALUES (@node_id, @host, @port, @username, @host_key, @credential, @forget, @plan)
ON CONFLICT (node_id) DO UPDATE SET host = excluded.host, port = excluded.port,
    username = excluded.username, host_key = excluded.host_key,
    credential = excluded.credential, forget = excluded.forget, plan = excluded.plan;

-- name: GetNodeSSH :one
-- How a machine is reached.
SELECT * FROM node_ssh WHERE node_id = @node_id;

-- name: ForgetNodeSSH :execrows
-- The credential goes; address and pinned host key stay.
UPDATE node_ssh SET credential = NULL WHERE node_id = @node_id AND credential IS NOT NULL;

-- name: ExpectThumbprint :exec
-- What the agent said of its certificate on the machine itself: first contact
-- must match.
UPDATE nodes SET expected = @expected WHERE id = @id;

-- name: InsertProvision :one
-- The next attempt of a node. A second open one is refused by an index.
INSERT INTO provision_attempts (node_id, number, started_by)
SELECT @node_id, coalesce(max(number), 0) + 1, @started_by FROM provision_attempts
WHERE node_id = @node_id RETURNING number;

-- name: ClaimProvision :one
-- The oldest attempt that nobody works on yet, for one control plane.
UPDATE provision_attempts a SET state = 'provisioning', holder = @holder, started_at = now(),
    lease_until = now() + make_interval(secs => @seconds::double precision)
WHERE (a.node_id, a.number) = (SELECT o.node_id, o.number FROM provision_attempts o
    WHERE o.state = 'pending' ORDER BY o.created_at LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING a.node_id, a.number, a.started_by;

-- name: RenewProvision :execrows
-- Whoever works on an attempt says that they are alive. No row: it is not theirs.
UPDATE provision_attempts
SET lease_until = now() + make_interval(secs => @seconds::double precision)
WHERE node_id = @node_id AND number = @number AND holder = @holder AND state = 'provisioning';

-- name: EndProvision :execrows
-- An attempt ends once.
UPDATE provision_attempts SET state = @state, code = @code, message = @message,
    remedy = @remedy, ended_at = now()
WHERE node_id = @node_id AND number = @number AND holder = @holder AND state = 'provisioning';

-- name: ListLostProvisions :many
-- Attempts whose control plane is gone.
SELECT node_id, number, holder FROM provision_attempts
WHERE state = 'provisioning' AND lease_until < now();

-- name: EndProvisionSteps :exec
-- Steps that nobody works on any more.
UPDATE provision_steps SET status = 'failed', ended_at = now()
WHERE node_id = @node_id AND number = @number AND status = 'running';

-- name: InsertProvisionStep :exec
-- A step begins.
INSERT INTO provision_steps (node_id, number, seq, key) VALUES (@node_id, @number, @seq, @key);

-- name: SetProvisionStep :exec
-- What a step said so far, and whether it ended.
UPDATE provision_steps SET output = @output, status = @status,
    ended_at = CASE WHEN @status = 'running' THEN NULL ELSE now() END
WHERE node_id = @node_id AND number = @number AND seq = @seq;

-- name: ListProvisions :many
-- A node's attempts, newest first.
SELECT sqlc.embed(a), n.name AS node FROM provision_attempts a JOIN nodes n ON n.id = a.node_id
WHERE n.name = @name AND a.number < @before::integer ORDER BY a.number DESC LIMIT @most;

-- name: ListProvisionSteps :many
-- What was done in an attempt, in order.
SELECT * FROM provision_steps WHERE node_id = @node_id AND number = @number ORDER BY seq;
