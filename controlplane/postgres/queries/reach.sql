-- name: PutReachTicket :exec
-- A way into a service, for the moment until it is used.
INSERT INTO reach_tickets (digest, user_id, credential, deployment_id, step, kind, port, expires_at)
VALUES (@digest, @user_id, @credential, @deployment_id, @step, @kind, @port, @expires_at);

-- name: TakeReachTicket :one
-- Used once: whoever comes second finds nothing.
DELETE FROM reach_tickets WHERE digest = @digest AND expires_at > now() RETURNING *;

-- name: ForgetReachTickets :exec
-- Those that nobody used in time.
DELETE FROM reach_tickets WHERE expires_at <= now();
