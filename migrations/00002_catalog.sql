-- What admins define: where images come from, what can be deployed, where,
-- and the pipelines that tie it together. Foreign keys without a cascade make
-- it impossible to delete what something else uses.

-- +goose Up
CREATE TABLE registries (
    id          uuid PRIMARY KEY,
    name        text NOT NULL UNIQUE CHECK (name ~ '^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$'),
    -- An image names its registry by host, so a host is one registry.
    host        text NOT NULL UNIQUE CHECK (length(host) BETWEEN 1 AND 253),
    insecure    boolean NOT NULL DEFAULT false,
    username    text NOT NULL DEFAULT '',
    password    bytea,
    description text NOT NULL DEFAULT '',
    builtin     boolean NOT NULL DEFAULT false
);

CREATE TABLE services (
    id          uuid PRIMARY KEY,
    name        text NOT NULL UNIQUE CHECK (name ~ '^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$'),
    registry_id uuid NOT NULL REFERENCES registries,
    image       text NOT NULL CHECK (length(image) BETWEEN 1 AND 255),
    tag_mode    text NOT NULL CHECK (tag_mode IN ('pinned', 'selectable')),
    tag         text NOT NULL DEFAULT '',
    pattern     text NOT NULL DEFAULT '' CHECK (length(pattern) <= 128),
    description text NOT NULL DEFAULT '',
    CHECK (tag_mode = 'selectable' OR (tag <> '' AND pattern = ''))
);
CREATE INDEX services_registry ON services (registry_id);

CREATE TABLE plugins (
    id          uuid PRIMARY KEY,
    name        text NOT NULL UNIQUE CHECK (name ~ '^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$'),
    registry_id uuid NOT NULL REFERENCES registries,
    image       text NOT NULL CHECK (length(image) BETWEEN 1 AND 255),
    tag         text NOT NULL CHECK (tag <> ''),
    digest      text NOT NULL CHECK (digest ~ '^sha256:[0-9a-f]{64}$'),
    component   jsonb NOT NULL
);
CREATE INDEX plugins_registry ON plugins (registry_id);

CREATE TABLE environments (
    id          uuid PRIMARY KEY,
    name        text NOT NULL UNIQUE CHECK (name ~ '^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$'),
    domain      text NOT NULL CHECK (length(domain) BETWEEN 1 AND 200),
    description text NOT NULL DEFAULT '',
    restricted  boolean NOT NULL DEFAULT false
);

CREATE TABLE projects (
    id          uuid PRIMARY KEY,
    name        text NOT NULL UNIQUE CHECK (name ~ '^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$'),
    description text NOT NULL DEFAULT '',
    cpu         double precision NOT NULL DEFAULT 0 CHECK (cpu >= 0),
    memory_mib  integer NOT NULL DEFAULT 0 CHECK (memory_mib >= 0)
);

-- A saved pipeline never changes; it goes only together with its project.
CREATE TABLE pipeline_versions (
    project_id uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    version    integer NOT NULL CHECK (version >= 1),
    pipeline   jsonb NOT NULL,
    digest     text NOT NULL,
    note       text NOT NULL DEFAULT '',
    created_by text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (project_id, version)
);

-- What the current version of each project uses, so that the catalogue cannot
-- lose it. Older versions carry copies and need nothing.
CREATE TABLE project_services (
    project_id uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    service_id uuid NOT NULL REFERENCES services,
    PRIMARY KEY (project_id, service_id)
);
CREATE INDEX project_services_service ON project_services (service_id);
CREATE TABLE project_plugins (
    project_id uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    plugin_id  uuid NOT NULL REFERENCES plugins,
    PRIMARY KEY (project_id, plugin_id)
);
CREATE INDEX project_plugins_plugin ON project_plugins (plugin_id);

-- Either a sealed value or a rule; never both, never neither.
CREATE TABLE secrets (
    id           uuid PRIMARY KEY,
    project_id   uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    name         text NOT NULL CHECK (name ~ '^[A-Z][A-Z0-9_]{0,62}$'),
    version      integer NOT NULL CHECK (version >= 1),
    value        bytea,
    length       integer CHECK (length BETWEEN 12 AND 128),
    alphabet     text CHECK (alphabet IN ('alphanumeric', 'hex', 'base64url')),
    updated_at   timestamptz NOT NULL,
    last_used_at timestamptz,
    UNIQUE (project_id, name),
    CHECK ((value IS NULL) = (length IS NOT NULL)),
    CHECK ((length IS NULL) = (alphabet IS NULL))
);

-- A known text under each master key that was ever first: a control plane with
-- the wrong key refuses to start instead of failing at the first secret.
CREATE TABLE key_check (
    kid        text PRIMARY KEY,
    sealed     bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);

-- A grant belongs to exactly one project or environment, and goes with it.
CREATE TABLE grants (
    team_id        uuid NOT NULL REFERENCES teams ON DELETE CASCADE,
    project_id     uuid REFERENCES projects ON DELETE CASCADE,
    environment_id uuid REFERENCES environments ON DELETE CASCADE,
    level          text NOT NULL CHECK (level IN ('read', 'full')),
    CHECK ((project_id IS NULL) <> (environment_id IS NULL))
);
CREATE UNIQUE INDEX grants_project ON grants (team_id, project_id) WHERE project_id IS NOT NULL;
CREATE UNIQUE INDEX grants_environment ON grants (team_id, environment_id)
    WHERE environment_id IS NOT NULL;

-- +goose StatementBegin
CREATE FUNCTION pipeline_versions_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND NOT EXISTS (SELECT FROM projects WHERE id = OLD.project_id) THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'a saved pipeline never changes' USING ERRCODE = 'restrict_violation';
END $$;
-- +goose StatementEnd
CREATE TRIGGER pipeline_versions_immutable BEFORE UPDATE OR DELETE ON pipeline_versions
    FOR EACH ROW EXECUTE FUNCTION pipeline_versions_guard();

-- Public registries that everybody knows. Fixed ids, so that every
-- installation calls them the same.
INSERT INTO registries (id, name, host, description, builtin) VALUES
    ('01900000-0000-7000-8000-000000000001', 'docker-hub', 'docker.io', 'Docker Hub', true),
    ('01900000-0000-7000-8000-000000000002', 'github', 'ghcr.io', 'GitHub container registry', true),
    ('01900000-0000-7000-8000-000000000003', 'gitlab', 'registry.gitlab.com', 'GitLab container registry', true),
    ('01900000-0000-7000-8000-000000000004', 'quay', 'quay.io', 'Quay', true),
    ('01900000-0000-7000-8000-000000000005', 'google', 'gcr.io', 'Google container registry', true);

-- +goose Down
DROP TABLE grants, key_check, secrets, project_plugins, project_services, pipeline_versions,
    projects, environments, plugins, services, registries;
DROP FUNCTION pipeline_versions_guard();
