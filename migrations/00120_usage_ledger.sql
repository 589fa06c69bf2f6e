-- Who had how much of which node, and for how long: a ledger that only grows. A deployment's
-- row tells what it holds now; a trigger tells the ledger of each change in the transaction of
-- the change itself, and a job of the control plane turns these events into rows.
--
-- All amounts are whole numbers: thousandths of a core, MiB, and seconds. So sums are exact,
-- whichever way and however often an interval was cut.

-- +goose Up
-- What a deployment holds from a moment on. An event without a project ends it.
CREATE TABLE usage_events (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at            timestamptz NOT NULL,
    deployment_id uuid NOT NULL,
    held          boolean NOT NULL,
    deployment    text NOT NULL DEFAULT '',
    project_id    uuid,
    project       text NOT NULL DEFAULT '',
    environment_id uuid,
    environment   text NOT NULL DEFAULT '',
    node_id       uuid,
    node          text NOT NULL DEFAULT '',
    team          text NOT NULL DEFAULT '',
    person        text NOT NULL DEFAULT '',
    millicores    bigint NOT NULL DEFAULT 0 CHECK (millicores >= 0),
    memory_mib    bigint NOT NULL DEFAULT 0 CHECK (memory_mib >= 0),
    gpus          bigint NOT NULL DEFAULT 0 CHECK (gpus >= 0),
    CHECK (NOT held OR project_id IS NOT NULL AND environment_id IS NOT NULL)
);

-- Intervals that have begun and not ended. Nothing here counts twice: what is in the ledger
-- ends where these begin.
CREATE TABLE usage_open (
    deployment_id uuid PRIMARY KEY,
    since         timestamptz NOT NULL,
    deployment    text NOT NULL,
    project_id    uuid NOT NULL,
    project       text NOT NULL,
    environment_id uuid NOT NULL,
    environment   text NOT NULL,
    node_id       uuid,
    node          text NOT NULL,
    team          text NOT NULL,
    person        text NOT NULL,
    millicores    bigint NOT NULL CHECK (millicores >= 0),
    memory_mib    bigint NOT NULL CHECK (memory_mib >= 0),
    gpus          bigint NOT NULL CHECK (gpus >= 0),
    -- What its volumes took when they were measured last.
    volume_mib    bigint NOT NULL DEFAULT 0 CHECK (volume_mib >= 0)
);

-- One row is one interval within one day (UTC), or a correction of an earlier row. It refers to
-- nothing that is ever deleted, and holds names as they were.
CREATE TABLE usage_ledger (
    id                 bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind               text NOT NULL CHECK (kind IN ('allocated', 'measured', 'correction')),
    deployment_id      uuid NOT NULL,
    deployment         text NOT NULL,
    project_id         uuid NOT NULL,
    project            text NOT NULL,
    environment_id     uuid NOT NULL,
    environment        text NOT NULL,
    node               text NOT NULL,
    team               text NOT NULL,
    person             text NOT NULL,
    from_at            timestamptz NOT NULL,
    until_at           timestamptz NOT NULL,
    millicore_seconds  bigint NOT NULL DEFAULT 0,
    memory_mib_seconds bigint NOT NULL DEFAULT 0,
    gpu_seconds        bigint NOT NULL DEFAULT 0,
    volume_mib_seconds bigint NOT NULL DEFAULT 0,
    traffic_bytes      bigint NOT NULL DEFAULT 0,
    corrects           bigint REFERENCES usage_ledger,
    reason             text NOT NULL DEFAULT '' CHECK (length(reason) <= 500),
    written_by         text NOT NULL,
    written_at         timestamptz NOT NULL DEFAULT now(),
    CHECK (until_at > from_at AND (until_at AT TIME ZONE 'UTC') <=
        date_trunc('day', from_at AT TIME ZONE 'UTC') + interval '1 day'),
    CHECK ((kind = 'correction') = (corrects IS NOT NULL)),
    CHECK (kind <> 'correction' OR reason <> ''),
    CHECK (kind = 'correction' OR least(millicore_seconds, memory_mib_seconds, gpu_seconds,
        volume_mib_seconds, traffic_bytes) >= 0)
);
CREATE INDEX usage_ledger_from ON usage_ledger (from_at);
CREATE INDEX usage_ledger_deployment ON usage_ledger (deployment_id, from_at);
CREATE INDEX usage_ledger_corrects ON usage_ledger (corrects) WHERE corrects IS NOT NULL;

-- +goose StatementBegin
CREATE FUNCTION refuse_ledger_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the usage ledger only grows: write a correction'
        USING ERRCODE = 'restrict_violation';
END $$;
-- +goose StatementEnd
CREATE TRIGGER usage_ledger_append_only BEFORE UPDATE OR DELETE ON usage_ledger
    FOR EACH ROW EXECUTE FUNCTION refuse_ledger_change();
CREATE TRIGGER usage_ledger_not_truncated BEFORE TRUNCATE ON usage_ledger
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_ledger_change();

-- How far the ledger is, and by how much the database's clock was set since it began. Its row is
-- the lock of whoever writes. measured_until is up to when traffic is in the ledger.
CREATE TABLE usage_clock (
    single         boolean PRIMARY KEY DEFAULT true CHECK (single),
    at             timestamptz NOT NULL,
    set_by         interval NOT NULL DEFAULT '0',
    measured_until timestamptz NOT NULL
);
INSERT INTO usage_clock (at, measured_until) VALUES (date_trunc('second', now()),
    date_trunc('hour', now()));

-- The team of a person that has most to do with a project or environment: one with full access,
-- before one that reads, before any other.
-- +goose StatementBegin
CREATE FUNCTION usage_team(person text, project uuid, environment uuid) RETURNS text
LANGUAGE sql STABLE AS $$
    SELECT coalesce((SELECT t.name FROM users u
        JOIN memberships m ON m.user_id = u.id
        JOIN teams t ON t.id = m.team_id
        LEFT JOIN grants g ON g.team_id = t.id
            AND (g.project_id = usage_team.project OR g.environment_id = usage_team.environment)
        WHERE u.name = usage_team.person
        ORDER BY g.level = 'full' DESC NULLS LAST, t.name LIMIT 1), '')
$$;

CREATE FUNCTION usage_held(d deployments) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT d.node_id IS NOT NULL AND d.status NOT IN ('canceled', 'removed', 'forgotten')
$$;

CREATE FUNCTION record_usage_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' AND usage_held(OLD) AND (TG_OP = 'DELETE' OR NOT usage_held(NEW)) THEN
        INSERT INTO usage_events (at, deployment_id, held)
        VALUES (date_trunc('second', clock_timestamp()), OLD.id, false);
    ELSIF TG_OP <> 'DELETE' AND usage_held(NEW) AND (TG_OP = 'INSERT' OR NOT usage_held(OLD)
        OR (OLD.node_id, OLD.cpu, OLD.memory_mib, OLD.gpus) IS DISTINCT FROM
            (NEW.node_id, NEW.cpu, NEW.memory_mib, NEW.gpus)) THEN
        INSERT INTO usage_events (at, deployment_id, held, deployment, project_id, project,
            environment_id, environment, node_id, node, team, person, millicores, memory_mib, gpus)
        SELECT date_trunc('second', clock_timestamp()), NEW.id, true, NEW.name, p.id, p.name,
            e.id, e.name, NEW.node_id, NEW.node_name, usage_team(NEW.created_by, p.id, e.id),
            NEW.created_by, round(NEW.cpu * 1000), NEW.memory_mib, cardinality(NEW.gpus)
        FROM projects p, environments e
        WHERE p.id = NEW.project_id AND e.id = NEW.environment_id;
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER deployments_usage
    AFTER INSERT OR DELETE OR UPDATE OF status, node_id, cpu, memory_mib, gpus ON deployments
    FOR EACH ROW EXECUTE FUNCTION record_usage_event();

-- The ledger begins here: what was held before is not known.
INSERT INTO usage_events (at, deployment_id, held, deployment, project_id, project,
    environment_id, environment, node_id, node, team, person, millicores, memory_mib, gpus)
SELECT date_trunc('second', now()), d.id, true, d.name, p.id, p.name, e.id, e.name, d.node_id,
    d.node_name, usage_team(d.created_by, p.id, e.id), d.created_by, round(d.cpu * 1000),
    d.memory_mib, cardinality(d.gpus)
FROM deployments d
JOIN projects p ON p.id = d.project_id
JOIN environments e ON e.id = d.environment_id
WHERE usage_held(d);

-- +goose Down
DROP TRIGGER deployments_usage ON deployments;
DROP FUNCTION record_usage_event();
DROP FUNCTION usage_held(deployments);
DROP FUNCTION usage_team(text, uuid, uuid);
DROP TABLE usage_clock, usage_ledger, usage_open, usage_events;
DROP FUNCTION refuse_ledger_change();
