-- name: GetACMESettings :one
-- How an environment orders certificates; no row is not at all.
SELECT * FROM acme_settings WHERE environment_id = @id;

-- name: LockACMEAuthority :one
-- Whom an environment orders from, until the transaction ends.
SELECT directory, roots FROM acme_settings WHERE environment_id = @id FOR SHARE;

-- name: PutACMESettings :exec
-- What an admin says about it, as a whole.
INSERT INTO acme_settings (environment_id, challenge, directory, email, roots, dns, dns_server,
    dns_user, dns_secret, eab_key_id, eab_key)
VALUES (@environment_id, @challenge, @directory, @email, @roots, @dns, @dns_server, @dns_user,
    @dns_secret, @eab_key_id, @eab_key)
ON CONFLICT (environment_id) DO UPDATE SET challenge = excluded.challenge,
    directory = excluded.directory, email = excluded.email, roots = excluded.roots,
    dns = excluded.dns, dns_server = excluded.dns_server, dns_user = excluded.dns_user,
    dns_secret = excluded.dns_secret, eab_key_id = excluded.eab_key_id,
    eab_key = excluded.eab_key;

-- name: DeleteACMESettings :execrows
-- Nothing is ordered any more; what there is serves until it ends.
DELETE FROM acme_settings WHERE environment_id = @id;

-- name: ListACMEZones :many
-- Environments that order certificates.
SELECT e.id, e.name, e.domain, s.challenge, s.directory FROM acme_settings s
JOIN environments e ON e.id = s.environment_id ORDER BY e.name;

-- name: ListACMEHosts :many
-- What has addresses in environments that order certificates.
SELECT h.host, d.name AS deployment, d.environment_id FROM deployment_hosts h
JOIN deployments d ON d.id = h.deployment_id
JOIN acme_settings s ON s.environment_id = d.environment_id
ORDER BY d.environment_id, d.name, h.host;

-- name: WantACMECertificate :exec
-- A new one is ordered now, and so is one whose names changed. One that comes
-- back while its chain is still there keeps its time: it needs no second one.
INSERT INTO acme_certificates (id, environment_id, subject, names, wanted, next_try)
VALUES (@id, @environment_id, @subject, @names, true, @now)
ON CONFLICT (environment_id, subject) DO UPDATE SET wanted = true, names = excluded.names,
    next_try = CASE WHEN acme_certificates.names = excluded.names
            AND (acme_certificates.wanted OR acme_certificates.chain <> '')
        THEN acme_certificates.next_try ELSE least(acme_certificates.next_try, excluded.next_try) END
WHERE NOT acme_certificates.wanted OR acme_certificates.names <> excluded.names;

-- name: UnwantACMECertificates :exec
-- All but those that are still to be kept fresh; ids are "environment subject".
UPDATE acme_certificates SET wanted = false
WHERE wanted AND NOT (environment_id::text || ' ' || subject = ANY(@wanted::text[]));

-- name: ListACMECertificates :many
-- All of them: one per environment and deployment.
SELECT * FROM acme_certificates ORDER BY environment_id, subject;

-- name: ListACMECertificatesOf :many
-- Those of one environment.
SELECT * FROM acme_certificates WHERE environment_id = @id ORDER BY subject;

-- name: ClaimACMECertificate :one
-- One of an environment that is due, out of the sight of other replicas until
-- the time given.
UPDATE acme_certificates SET next_try = @until, tried_at = @now WHERE id = (
    SELECT c.id FROM acme_certificates c
    WHERE c.environment_id = @environment AND c.wanted AND c.next_try <= @now
    ORDER BY c.next_try, c.id LIMIT 1 FOR UPDATE SKIP LOCKED
) RETURNING *;

-- name: CountNewACMECertificates :many
-- First certificates for names under each domain: what authorities count per week.
SELECT e.domain, count(*) FROM acme_certificates c JOIN environments e ON e.id = c.environment_id
WHERE c.first_at > @since GROUP BY e.domain;

-- name: HoldACMECertificate :exec
-- A try that failed, or has to wait.
UPDATE acme_certificates SET failures = @failures, error = @error, next_try = @next_try
WHERE id = @id;

-- name: StoreACMECertificate :exec
-- A try that went well.
UPDATE acme_certificates SET chain = @chain, key = @key, failures = 0, error = '',
    next_try = @next_try, first_at = coalesce(first_at, @now) WHERE id = @id;

-- name: RetryACMECertificates :exec
-- Whoever mended something does not wait.
UPDATE acme_certificates SET next_try = @now
WHERE environment_id = @id AND wanted AND error <> '';

-- name: RenewACMECertificates :exec
-- Another authority: all are first ones to it, also those that only come back.
UPDATE acme_certificates SET next_try = @now, first_at = NULL, failures = 0, error = ''
WHERE environment_id = @id;

-- name: DeleteACMECertificate :exec
-- One that ended and is not wanted.
DELETE FROM acme_certificates WHERE id = @id AND NOT wanted;

-- name: GetACMEAccount :one
-- Our account at a directory.
SELECT * FROM acme_accounts
WHERE directory = @directory AND email = @email AND eab_key_id = @eab_key_id;

-- name: InsertACMEAccount :exec
-- The first of two replicas wins; the other one's is forgotten.
INSERT INTO acme_accounts (id, directory, email, location, key, eab_key_id)
VALUES (@id, @directory, @email, @location, @key, @eab_key_id) ON CONFLICT DO NOTHING;

-- name: DeleteACMEAccount :exec
-- The authority does not know it any more.
DELETE FROM acme_accounts WHERE id = @id;

-- name: PutACMEChallenge :exec
-- What the ingress is to answer.
INSERT INTO acme_challenges (host, token, answer, made_at)
VALUES (@host, @token, @answer, @now)
ON CONFLICT (host, token) DO UPDATE SET answer = excluded.answer, made_at = excluded.made_at;

-- name: GetACMEChallenge :one
-- What the ingress is asked.
SELECT answer FROM acme_challenges WHERE host = @host AND token = @token;

-- name: DeleteACMEChallenges :exec
-- One that is over, and all that a crash left behind.
DELETE FROM acme_challenges WHERE host = @host AND token = @token OR made_at < @before;
