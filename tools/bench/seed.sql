-- Fills the bench's database with what a large company has. One deployment that
-- was really made is the pattern of all others; the API would take an hour.
--
--   psql -v deployments=10000 -v users=500 -v teams=50 -v projects=50
--        -v environments=20 -v pattern=pattern -f tools/bench/seed.sql URL
--
-- Whatever a row has that is not named here, it has from its pattern. Nodes are
-- disabled: nobody dials them, and no agent is asked for ten thousand containers.
\set ON_ERROR_STOP on
BEGIN;

-- Ids grow with time, as the control plane's do.
CREATE FUNCTION seed_id(at timestamptz) RETURNS uuid LANGUAGE sql VOLATILE AS $$
    SELECT (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '7'
        || substr(r, 1, 3) || '8' || substr(r, 4, 15))::uuid
    FROM (SELECT md5(random()::text) AS r) AS of
$$;

CREATE TEMP TABLE seed_projects AS
SELECT i, seed_id(now()) AS id, 'seed-' || i AS name FROM generate_series(1, :projects) i;
CREATE TEMP TABLE seed_environments AS
SELECT i, seed_id(now()) AS id, seed_id(now()) AS node, 'seed-' || i AS name
FROM generate_series(1, :environments) i;
CREATE TEMP TABLE seed_teams AS
SELECT i, seed_id(now()) AS id, 'seed-' || i AS name FROM generate_series(1, :teams) i;
CREATE TEMP TABLE seed_users AS
SELECT i, seed_id(now()) AS id, 'seed-' || i AS name FROM generate_series(1, :users) i;

INSERT INTO projects SELECT (jsonb_populate_record(p, to_jsonb(s) - 'i')).*
FROM seed_projects s, projects p WHERE p.name = 'shop';
INSERT INTO pipeline_versions
SELECT (jsonb_populate_record(v, jsonb_build_object('project_id', s.id))).*
FROM seed_projects s, projects p, pipeline_versions v WHERE p.name = 'shop' AND v.project_id = p.id;
INSERT INTO project_services SELECT s.id, v.service_id
FROM seed_projects s, projects p, project_services v WHERE p.name = 'shop' AND v.project_id = p.id;
INSERT INTO project_plugins SELECT s.id, v.plugin_id
FROM seed_projects s, projects p, project_plugins v WHERE p.name = 'shop' AND v.project_id = p.id;

INSERT INTO environments
SELECT (jsonb_populate_record(e, jsonb_build_object('id', s.id, 'name', s.name,
    'domain', s.name || '.localhost'))).*
FROM seed_environments s, environments e WHERE e.name = 'qa';
INSERT INTO nodes
SELECT (jsonb_populate_record(n, jsonb_build_object('id', s.node, 'name', s.name,
    'environment_id', s.id, 'address', '192.0.2.' || s.i || ':5000', 'status', 'disabled',
    'thumbprint', ''))).*
FROM seed_environments s, nodes n WHERE n.name = 'bench';

INSERT INTO teams (id, name) SELECT id, name FROM seed_teams;
INSERT INTO users SELECT (jsonb_populate_record(u, jsonb_build_object('id', s.id, 'name', s.name,
    'role', 'user'))).*
FROM seed_users s, users u WHERE u.name = 'admin';
-- Everybody is in five teams, or in all there are.
INSERT INTO memberships (team_id, user_id)
SELECT t.id, u.id FROM seed_users u, generate_series(0, 4) k
JOIN seed_teams t ON true WHERE t.i = 1 + (u.i + k * 11) % :teams
ON CONFLICT DO NOTHING;
-- Each team reads a project; all read the first environment.
INSERT INTO grants (team_id, project_id, level)
SELECT t.id, p.id, 'read' FROM seed_teams t JOIN seed_projects p ON p.i = 1 + t.i % :projects;
INSERT INTO grants (team_id, environment_id, level)
SELECT t.id, e.id, 'read' FROM seed_teams t, seed_environments e WHERE e.i = 1;
-- The caller makes the tokens of these by itself.
INSERT INTO api_tokens (id, user_id, name, prefix, hash, created_at, last_used_at)
SELECT seed_id(now()), id, 'bench', 'seed' || i, sha256(('secret' || i)::bytea), now(), now()
FROM seed_users;

CREATE TEMP TABLE seed_deployments AS
SELECT g.i, seed_id(at) AS id, seed_id(at) AS run, 'seed-' || g.i AS name, at,
    p.id AS project, e.id AS environment, e.node, e.name AS node_name,
    CASE WHEN g.i % 50 = 0 THEN 'failed' ELSE 'ready' END AS status, u.name AS by
FROM generate_series(1, :deployments) AS g(i)
CROSS JOIN LATERAL (SELECT now() - (:deployments - g.i) * interval '5 minutes' AS at) t
JOIN seed_projects p ON p.i = 1 + g.i % :projects
JOIN seed_environments e ON e.i = 1 + (g.i / :projects) % :environments
JOIN seed_users u ON u.i = 1 + g.i % :users;

CREATE TEMP TABLE pattern AS SELECT d.id, r.id AS run
FROM deployments d JOIN runs r ON r.deployment_id = d.id WHERE d.name = :'pattern';
INSERT INTO deployments
SELECT (jsonb_populate_record(d, jsonb_build_object('id', s.id, 'name', s.name,
    'project_id', s.project, 'environment_id', s.environment, 'node_id', s.node,
    'node_name', s.node_name, 'created_by', s.by, 'created_at', s.at, 'ready_at', s.at,
    'changed_at', s.at, 'active_at', now(), 'status', s.status, 'want', 'present'))).*
FROM seed_deployments s, pattern o JOIN deployments d ON d.id = o.id;
INSERT INTO runs
SELECT (jsonb_populate_record(r, jsonb_build_object('id', s.run, 'deployment_id', s.id,
    'project_id', s.project, 'created_at', s.at, 'ended_at', s.at + interval '1 minute',
    'status', s.status))).*
FROM seed_deployments s, pattern o JOIN runs r ON r.id = o.run;
INSERT INTO run_steps
SELECT (jsonb_populate_record(t, jsonb_build_object('run_id', s.run))).*
FROM seed_deployments s, pattern o JOIN run_steps t ON t.run_id = o.run;
INSERT INTO deployment_hosts
SELECT (jsonb_populate_record(h, jsonb_build_object('deployment_id', s.id,
    'host', 'seed-' || s.i || '.' || h.host))).*
FROM seed_deployments s, pattern o JOIN deployment_hosts h ON h.deployment_id = o.id;
INSERT INTO service_health
SELECT (jsonb_populate_record(h, jsonb_build_object('deployment_id', s.id))).*
FROM seed_deployments s, pattern o JOIN service_health h ON h.deployment_id = o.id;
INSERT INTO deployment_events
SELECT (jsonb_populate_record(v, jsonb_build_object('deployment_id', s.id, 'at', s.at))).*
FROM seed_deployments s, pattern o JOIN deployment_events v ON v.deployment_id = o.id;
INSERT INTO deployment_lives (deployment_id) SELECT id FROM seed_deployments
ON CONFLICT DO NOTHING;
COMMIT;
VACUUM ANALYZE;
