-- What needs somebody's attention, from when on, and until when. One worker compares the causes
-- it finds with the alerts that are open: it starts, keeps and ends them. A notification goes out
-- at the start and at the end, through the outbox of all others. And what causes are read from
-- that no table had: which processes are alive, and how backups ended.

-- +goose Up
CREATE TABLE processes (
    -- As in leases.
    id         text PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 400),
    role       text NOT NULL CHECK (role IN ('controlplane', 'ingress')),
    release    text NOT NULL CHECK (length(release) <= 200),
    started_at timestamptz NOT NULL DEFAULT now(),
    seen_at    timestamptz NOT NULL DEFAULT now(),
    -- Set when it was stopped, rather than lost.
    stopped_at timestamptz,
    -- How far its clock is ahead of the database's, in seconds.
    skew       double precision NOT NULL DEFAULT 0,
    -- What only the process itself knows, see controlplane.ProcessReport.
    report     jsonb NOT NULL DEFAULT '{}'
);

CREATE TABLE backups (
    id    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at    timestamptz NOT NULL DEFAULT now(),
    -- Why it failed; empty if it did not.
    error text NOT NULL DEFAULT '' CHECK (length(error) <= 1000)
);

CREATE TABLE alerts (
    id              uuid PRIMARY KEY,
    condition       text NOT NULL CHECK (length(condition) BETWEEN 1 AND 100),
    -- What of the condition's kind it is about: an id, or a name; empty for the installation.
    subject         text NOT NULL CHECK (length(subject) <= 400),
    severity        text NOT NULL CHECK (severity IN ('warning', 'critical')),
    -- What people call the subject, and what is known of the cause.
    label           text NOT NULL CHECK (length(label) <= 400),
    detail          text NOT NULL CHECK (length(detail) <= 2000),
    project_id      uuid REFERENCES projects ON DELETE CASCADE,
    environment_id  uuid REFERENCES environments ON DELETE CASCADE,
    deployment_id   uuid REFERENCES deployments ON DELETE CASCADE,
    node_id         uuid REFERENCES nodes ON DELETE CASCADE,
    started_at      timestamptz NOT NULL DEFAULT now(),
    -- From when on it counts: what ends before that was nothing.
    active_at       timestamptz NOT NULL,
    ended_at        timestamptz,
    -- When subscribers were told of the start, and of the end.
    notified_at     timestamptz,
    end_notified_at timestamptz,
    acknowledged_at timestamptz,
    acknowledged_by text NOT NULL DEFAULT '' CHECK (length(acknowledged_by) <= 200)
);
CREATE UNIQUE INDEX alerts_open ON alerts (condition, subject) WHERE ended_at IS NULL;
CREATE INDEX alerts_ended ON alerts (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX alerts_project ON alerts (project_id) WHERE project_id IS NOT NULL;
CREATE INDEX alerts_environment ON alerts (environment_id) WHERE environment_id IS NOT NULL;
CREATE INDEX alerts_deployment ON alerts (deployment_id) WHERE deployment_id IS NOT NULL;
CREATE INDEX alerts_node ON alerts (node_id) WHERE node_id IS NOT NULL;

-- A silence is about the condition of a subject, not about one alert: what comes and goes stays
-- silent. It always ends.
CREATE TABLE alert_silences (
    condition  text NOT NULL CHECK (length(condition) BETWEEN 1 AND 100),
    subject    text NOT NULL CHECK (length(subject) <= 400),
    until      timestamptz NOT NULL,
    reason     text NOT NULL DEFAULT '' CHECK (length(reason) <= 500),
    created_by text NOT NULL CHECK (length(created_by) <= 200),
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (condition, subject)
);

-- For metrics, which ask what ended and what started since they last asked.
CREATE INDEX runs_ended ON runs (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX queue_started ON queue (started_at) WHERE started_at IS NOT NULL;

-- +goose Down
DROP INDEX runs_ended, queue_started;
DROP TABLE alert_silences, alerts, backups, processes;
