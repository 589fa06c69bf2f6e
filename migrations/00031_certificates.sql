-- Certificates the ingress serves: those an admin uploaded, and the authority
-- of closed networks, which signs for every host nobody uploaded one for. What
-- a certificate says is read from it and stored nowhere else.

-- +goose Up
CREATE TABLE certificates (
    id         uuid PRIMARY KEY,
    name       text NOT NULL UNIQUE CHECK (name ~ '^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$'),
    -- PEM, the host's own certificate first.
    chain      text NOT NULL CHECK (length(chain) BETWEEN 1 AND 65536),
    -- The private key, sealed.
    key        bytea NOT NULL,
    created_by text NOT NULL,
    created_at timestamptz NOT NULL
);

CREATE TABLE certificate_authority (
    one         boolean PRIMARY KEY DEFAULT true CHECK (one),
    id          uuid NOT NULL,
    certificate text NOT NULL,
    key         bytea NOT NULL,
    created_by  text NOT NULL,
    created_at  timestamptz NOT NULL
);

-- +goose Down
DROP TABLE certificate_authority, certificates;
