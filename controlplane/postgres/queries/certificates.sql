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
