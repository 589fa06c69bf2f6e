-- name: FindStandbyNode :one
-- The node of a token that is active, or that its agent does not yet refuse.
SELECT sqlc.embed(t), n.name, n.connect, n.status
FROM node_tokens t JOIN nodes n ON n.id = t.node_id
WHERE t.kid = @kid AND (t.revoked_at IS NULL OR t.revocation_pending);

-- name: PutStandbyHost :exec
-- A process says where it can be asked, and forgets those that have not said so for long.
WITH gone AS (DELETE FROM standby_hosts WHERE expires_at < now() - interval '1 hour')
INSERT INTO standby_hosts (process, url, fingerprint, expires_at)
VALUES (@process, @url, @fingerprint, now() + make_interval(secs => @seconds::double precision))
ON CONFLICT (process) DO UPDATE SET url = excluded.url, fingerprint = excluded.fingerprint,
    expires_at = excluded.expires_at;

-- name: DeleteStandbyHost :exec
DELETE FROM standby_hosts WHERE process = @process;

-- name: ListStandbyHosts :many
SELECT process, url, fingerprint FROM standby_hosts WHERE expires_at > now() ORDER BY process;
