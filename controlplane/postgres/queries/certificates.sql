-- name: ListCertificates :many
-- Few enough for one answer: one per domain.
SELECT * FROM certificates ORDER BY name;

-- name: GetCertificate :one
-- A certificate by name.
SELECT * FROM certificates WHERE name = @name;

-- name: PutCertificate :exec
-- Inserts, or replaces the one of that id.
INSERT INTO certificates (id, name, chain, key, created_by, created_at)
VALUES (@id, @name, @chain, @key, @created_by, @created_at)
ON CONFLICT (id) DO UPDATE SET chain = excluded.chain, key = excluded.key,
    created_by = excluded.created_by, created_at = excluded.created_at;

-- name: DeleteCertificate :execrows
-- The ingress stops serving it at once.
DELETE FROM certificates WHERE name = @name;

-- name: GetAuthority :one
-- The authority of a closed network, if there is one.
SELECT id, certificate, key, created_by, created_at FROM certificate_authority;

-- name: InsertAuthority :execrows
-- There is one at most: people trust it, and must not wonder which.
INSERT INTO certificate_authority (id, certificate, key, created_by, created_at)
VALUES (@id, @certificate, @key, @created_by, @created_at) ON CONFLICT DO NOTHING;

-- name: DeleteAuthority :execrows
-- Its certificates stay valid where they are trusted, but nobody makes new ones.
DELETE FROM certificate_authority;

-- name: GetIngressValue :one
SELECT sealed FROM ingress_values WHERE name = $1;

-- name: LockIngressValues :exec
-- One control plane at a time decides what the ingress gets. The lock is the database's own:
-- there may be no row yet.
SELECT pg_advisory_xact_lock(7311091);

-- name: PutIngressValue :exec
INSERT INTO ingress_values (name, sealed) VALUES ($1, $2)
ON CONFLICT (name) DO UPDATE SET sealed = excluded.sealed, updated_at = now();
