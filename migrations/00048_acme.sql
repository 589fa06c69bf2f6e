-- Certificates that a public authority signs by itself (ACME, RFC 8555): how an
-- environment orders them, what was ordered, and how the last try went.

-- +goose Up
CREATE TABLE acme_settings (
    environment_id uuid PRIMARY KEY REFERENCES environments ON DELETE CASCADE,
    challenge      text NOT NULL CHECK (challenge IN ('http-01', 'dns-01')),
    directory      text NOT NULL CHECK (length(directory) BETWEEN 1 AND 2000),
    email          text NOT NULL CHECK (length(email) <= 254),
    -- PEM: what to trust when the directory is not one that systems trust.
    roots          text NOT NULL CHECK (length(roots) <= 65536),
    -- How the name server is told of a dns-01 challenge.
    dns            text NOT NULL CHECK (dns IN ('', 'rfc2136', 'webhook')),
    dns_server     text NOT NULL CHECK (length(dns_server) <= 2000),
    dns_user       text NOT NULL CHECK (length(dns_user) <= 255),
    -- The TSIG key or the webhook's password, sealed.
    dns_secret     bytea,
    CHECK ((challenge = 'dns-01') = (dns <> ''))
);

-- One account for each directory and address: authorities count by it.
CREATE TABLE acme_accounts (
    id        uuid PRIMARY KEY,
    directory text NOT NULL,
    email     text NOT NULL,
    location  text NOT NULL,
    key       bytea NOT NULL,
    UNIQUE (directory, email)
);

CREATE TABLE acme_certificates (
    id             uuid PRIMARY KEY,
    environment_id uuid NOT NULL REFERENCES environments ON DELETE CASCADE,
    -- The name it is known by; names are all that it is for.
    subject        text NOT NULL,
    names          text[] NOT NULL,
    -- What is not wanted is kept until it ends, and not renewed.
    wanted         boolean NOT NULL,
    chain          text NOT NULL DEFAULT '',
    -- The private key, sealed; with the chain.
    key            bytea,
    first_at       timestamptz,
    failures       integer NOT NULL DEFAULT 0,
    error          text NOT NULL DEFAULT '',
    tried_at       timestamptz,
    next_try       timestamptz NOT NULL,
    UNIQUE (environment_id, subject),
    CHECK ((chain = '') = (key IS NULL))
);
CREATE INDEX acme_certificates_next ON acme_certificates (next_try) WHERE wanted;

-- What authorities ask hosts for, while they ask.
CREATE TABLE acme_challenges (
    host    text NOT NULL,
    token   text NOT NULL,
    answer  text NOT NULL,
    made_at timestamptz NOT NULL,
    PRIMARY KEY (host, token)
);

-- +goose Down
DROP TABLE acme_challenges, acme_certificates, acme_accounts, acme_settings;
