-- Deployments, their runs and steps, what happened to them, and what nodes
-- measured. People write the goal columns (want, generation); reports write the
-- status columns. Each column has one writer.

-- +goose Up
CREATE TABLE deployments (
    id             uuid PRIMARY KEY,
    name           text NOT NULL CHECK (name ~ '^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$'),
    project_id     uuid NOT NULL REFERENCES projects (id),
    environment_id uuid NOT NULL REFERENCES environments (id),
    -- A node goes only when nothing runs on it; history keeps its name.
    node_id        uuid REFERENCES nodes (id) ON DELETE SET NULL,
    node_name      text NOT NULL,
    created_by     text NOT NULL,
    created_at     timestamptz NOT NULL DEFAULT now(),

    want           text NOT NULL DEFAULT 'present' CHECK (want IN ('present', 'gone')),
    generation     bigint NOT NULL DEFAULT 1 CHECK (generation > 0),
    -- canceled says which end a removal comes to: canceled or removed.
    canceled       boolean NOT NULL DEFAULT false,

    status         text NOT NULL DEFAULT 'queued' CHECK (status IN ('queued', 'applying',
        'ready', 'undoing', 'failed', 'canceled', 'removing', 'removed', 'stuck', 'forgotten')),
    detail         text NOT NULL DEFAULT '',
    changed_at     timestamptz NOT NULL DEFAULT now(),
    ready_at       timestamptz,
    left_behind    text[] NOT NULL DEFAULT '{}',

    -- The reservation: counted on the node until the deployment is gone.
    cpu            double precision NOT NULL CHECK (cpu >= 0),
    memory_mib     bigint NOT NULL CHECK (memory_mib >= 0),

    -- What people chose, as the list shows it.
    versions       jsonb NOT NULL DEFAULT '[]',
    -- The last numbers given out, under this row's lock: commit order is id order.
    last_event     bigint NOT NULL DEFAULT 0,
    last_line      bigint NOT NULL DEFAULT 0,

    CHECK (node_id IS NOT NULL OR status IN ('failed', 'canceled', 'removed', 'forgotten'))
);

-- A name is unique in its environment among those that are not gone.
CREATE UNIQUE INDEX deployments_name ON deployments (environment_id, name)
    WHERE status NOT IN ('canceled', 'removed', 'forgotten');
CREATE INDEX deployments_node ON deployments (node_id) WHERE node_id IS NOT NULL;
CREATE INDEX deployments_project ON deployments (project_id);
CREATE INDEX deployments_created ON deployments (created_at DESC, id DESC);

-- The transition table of controlplane.DeploymentStatus; a test compares the two.
-- +goose StatementBegin
CREATE FUNCTION deployments_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.status = NEW.status OR (OLD.status || '>' || NEW.status) IN (
        'queued>applying', 'queued>undoing', 'queued>failed', 'queued>canceled',
        'applying>ready', 'applying>undoing', 'applying>failed',
        'undoing>failed', 'undoing>canceled', 'undoing>stuck', 'undoing>forgotten',
        'failed>queued', 'failed>removing',
        'ready>removing',
        'removing>removed', 'removing>stuck', 'removing>forgotten',
        'stuck>removing', 'stuck>forgotten'
    ) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'deployment % cannot move from % to %', OLD.id, OLD.status, NEW.status
        USING ERRCODE = 'check_violation';
END $$;
-- +goose StatementEnd
CREATE TRIGGER deployments_guard BEFORE UPDATE ON deployments
    FOR EACH ROW EXECUTE FUNCTION deployments_guard();

-- Each host belongs to one deployment at most, for as long as it is not gone.
CREATE TABLE deployment_hosts (
    host          text PRIMARY KEY,
    deployment_id uuid NOT NULL REFERENCES deployments (id) ON DELETE CASCADE,
    step          text NOT NULL,
    port_name     text NOT NULL,
    port          integer NOT NULL CHECK (port BETWEEN 1 AND 65535),
    main          boolean NOT NULL
);
CREATE INDEX deployment_hosts_deployment ON deployment_hosts (deployment_id);

CREATE TABLE runs (
    id               uuid PRIMARY KEY,
    deployment_id    uuid NOT NULL REFERENCES deployments (id) ON DELETE CASCADE,
    number           integer NOT NULL CHECK (number > 0),
    project_id       uuid NOT NULL,
    pipeline_version integer NOT NULL,
    -- The version with tags and digests filled in: exactly what the agent gets.
    pipeline         jsonb NOT NULL,
    -- Seals what the agent may not keep readable. Itself sealed.
    key_sealed       bytea NOT NULL,
    status           text NOT NULL DEFAULT 'queued' CHECK (status IN ('queued', 'applying',
        'ready', 'undoing', 'failed', 'canceled', 'removing', 'removed', 'stuck', 'forgotten')),
    started_by       text NOT NULL,
    created_at       timestamptz NOT NULL DEFAULT now(),
    ended_at         timestamptz,
    failure_step     text NOT NULL DEFAULT '',
    failure_code     text NOT NULL DEFAULT '',
    failure_message  text NOT NULL DEFAULT '',
    UNIQUE (deployment_id, number),
    FOREIGN KEY (project_id, pipeline_version) REFERENCES pipeline_versions (project_id, version)
);

CREATE TABLE run_steps (
    run_id     uuid NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    key        text NOT NULL,
    position   integer NOT NULL,
    kind       text NOT NULL CHECK (kind IN ('service', 'plugin')),
    title      text NOT NULL,
    status     text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'pulling',
        'running', 'done', 'failed', 'undoing', 'undone', 'skipped', 'unknown')),
    started_at timestamptz,
    ended_at   timestamptz,
    code       text NOT NULL DEFAULT '',
    message    text NOT NULL DEFAULT '',
    exit_code  integer,
    -- What people may read; secret outputs are "[secret]".
    outputs    jsonb,
    -- All outputs, sealed by the agent under the run's key.
    sealed     bytea,
    lines      bigint NOT NULL DEFAULT 0,
    -- The last sign of life, overwritten once a second while the step runs.
    progress   jsonb,
    PRIMARY KEY (run_id, key)
);

-- What happened, numbered without a gap per deployment; the order of numbers is
-- the order of commits, since the deployment's row is locked meanwhile. xact lets
-- a reader of many deployments go in commit order too: it stops at the oldest
-- transaction that is still open.
CREATE TABLE deployment_events (
    deployment_id uuid NOT NULL REFERENCES deployments (id) ON DELETE CASCADE,
    seq           bigint NOT NULL,
    at            timestamptz NOT NULL DEFAULT now(),
    kind          text NOT NULL CHECK (kind IN ('deployment', 'step', 'health')),
    data          jsonb NOT NULL DEFAULT '{}',
    xact          bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint,
    PRIMARY KEY (deployment_id, seq)
);
CREATE INDEX deployment_events_xact ON deployment_events (xact);

-- Lines that plugins wrote. id orders them within the deployment; run, step and
-- number come from the agent and make a line sent twice one line.
CREATE TABLE log_lines (
    deployment_id uuid NOT NULL REFERENCES deployments (id) ON DELETE CASCADE,
    id            bigint NOT NULL,
    run_id        uuid NOT NULL,
    step          text NOT NULL,
    number        bigint NOT NULL,
    at            timestamptz NOT NULL,
    text          text NOT NULL,
    dropped       bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (deployment_id, id),
    UNIQUE (run_id, step, number)
);

-- Health of each service, as the node's last probe said.
CREATE TABLE service_health (
    deployment_id uuid NOT NULL REFERENCES deployments (id) ON DELETE CASCADE,
    step          text NOT NULL,
    health        text NOT NULL CHECK (health IN ('starting', 'healthy', 'unhealthy',
        'stopped', 'unknown')),
    detail        text NOT NULL DEFAULT '',
    restarts      integer NOT NULL DEFAULT 0,
    cpu           double precision NOT NULL DEFAULT 0,
    memory        bigint NOT NULL DEFAULT 0,
    at            timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (deployment_id, step)
);

-- The highest report committed per node; a report is applied when it is newer.
CREATE TABLE node_reports (
    node_id  uuid PRIMARY KEY REFERENCES nodes ON DELETE CASCADE,
    last_seq bigint NOT NULL DEFAULT 0 CHECK (last_seq >= 0)
);

-- A deployment as lists and pages show it, with its latest run.
CREATE VIEW deployment_rows AS
SELECT d.*, p.name AS project, e.name AS environment, e.domain, e.restricted,
    coalesce(n.status, '')::text AS node_status,
    coalesce(n.since, d.changed_at)::timestamptz AS node_since,
    r.id AS run_id, r.number AS run, r.pipeline_version, r.failure_step, r.failure_code,
    r.failure_message,
    (SELECT count(*) FROM run_steps s WHERE s.run_id = r.id) AS steps_total,
    (SELECT count(*) FROM run_steps s WHERE s.run_id = r.id AND s.status = 'done') AS steps_done
FROM deployments d
JOIN projects p ON p.id = d.project_id
JOIN environments e ON e.id = d.environment_id
LEFT JOIN nodes n ON n.id = d.node_id
JOIN LATERAL (
    SELECT * FROM runs r WHERE r.deployment_id = d.id ORDER BY r.number DESC LIMIT 1
) r ON true;

-- Values generated for one deployment, sealed. They live as long as it does.
CREATE TABLE deployment_secrets (
    deployment_id uuid NOT NULL REFERENCES deployments (id) ON DELETE CASCADE,
    name          text NOT NULL,
    sealed        bytea NOT NULL,
    created_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (deployment_id, name)
);

-- +goose Down
DROP VIEW deployment_rows;
DROP TABLE deployment_secrets, node_reports, service_health, log_lines, deployment_events,
    run_steps, runs, deployment_hosts, deployments;
DROP FUNCTION deployments_guard();
