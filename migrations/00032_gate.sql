-- Who may open deployments. The stricter of environment and deployment counts;
-- no row is "open". A pass is a secret somebody carries, here as a hash alone.

-- +goose Up
CREATE TABLE environment_gates (
    environment_id uuid PRIMARY KEY REFERENCES environments ON DELETE CASCADE,
    gate           text NOT NULL CHECK (gate IN ('open', 'guests', 'members')),
    -- Whoever comes by plain HTTP is sent to HTTPS.
    redirect_https boolean NOT NULL
);

CREATE TABLE deployment_gates (
    deployment_id uuid PRIMARY KEY REFERENCES deployments ON DELETE CASCADE,
    gate          text NOT NULL CHECK (gate IN ('open', 'guests', 'members'))
);

-- code: hands a signed-in person over to one host, once, within a minute.
-- visit: what it was traded for; goes with the session.
-- guest: a link to one deployment. robot: a header for a whole environment.
CREATE TABLE gate_passes (
    id             uuid PRIMARY KEY,
    kind           text NOT NULL CHECK (kind IN ('code', 'visit', 'guest', 'robot')),
    hash           bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
    environment_id uuid NOT NULL REFERENCES environments ON DELETE CASCADE,
    deployment_id  uuid REFERENCES deployments ON DELETE CASCADE,
    host           text NOT NULL DEFAULT '',
    session_id     uuid REFERENCES sessions ON DELETE CASCADE,
    user_id        uuid REFERENCES users ON DELETE CASCADE,
    label          text NOT NULL DEFAULT '' CHECK (length(label) <= 200),
    created_by     text NOT NULL,
    created_at     timestamptz NOT NULL,
    expires_at     timestamptz NOT NULL,
    last_used_at   timestamptz,
    CHECK ((kind = 'robot') = (deployment_id IS NULL)),
    CHECK ((kind IN ('code', 'visit')) = (session_id IS NOT NULL)),
    CHECK ((session_id IS NULL) = (user_id IS NULL))
);
CREATE INDEX gate_passes_expire ON gate_passes (expires_at);
CREATE INDEX gate_passes_deployment ON gate_passes (deployment_id);

-- +goose Down
DROP TABLE gate_passes, deployment_gates, environment_gates;
