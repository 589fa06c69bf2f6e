INSERT INTO deployments (id, name, project_id, environment_id, node_id, node_name, created_by,
    status, ready_at, cpu, memory_mib, last_event, last_line)
VALUES ('00000000-0000-4000-8000-000000000012', 'first', '00000000-0000-4000-8000-000000000009', '00000000-0000-4000-8000-000000000008', '00000000-0000-4000-8000-000000000011', 'alpha', 'ada', 'ready', now(), 1, 256, 1, 1),
    ('00000000-0000-4000-8000-000000000014', 'second', '00000000-0000-4000-8000-000000000009', '00000000-0000-4000-8000-000000000008', '00000000-0000-4000-8000-000000000011', 'alpha', 'ada', 'failed', NULL, 1, 256, 0, 0),
    ('00000000-0000-4000-8000-000000000027', 'third', '00000000-0000-4000-8000-000000000009', '00000000-0000-4000-8000-000000000008', NULL, 'alpha', 'ada', 'removed', NULL, 1, 256, 0, 0);
INSERT INTO deployment_hosts VALUES ('web.first.qa.lab.example', '00000000-0000-4000-8000-000000000012', 'web', 'http', 80, true);
INSERT INTO runs (id, deployment_id, number, project_id, pipeline_version, pipeline, key_sealed,
    status, started_by, ended_at)
VALUES ('00000000-0000-4000-8000-000000000013', '00000000-0000-4000-8000-000000000012', 1, '00000000-0000-4000-8000-000000000009', 1, '{"steps": []}', '\x01026b31af', 'ready', 'ada', NULL),
    ('00000000-0000-4000-8000-000000000015', '00000000-0000-4000-8000-000000000014', 1, '00000000-0000-4000-8000-000000000009', 1, '{"steps": []}', '\x01026b31b0', 'failed', 'ada', now()),
    ('00000000-0000-4000-8000-000000000028', '00000000-0000-4000-8000-000000000027', 1, '00000000-0000-4000-8000-000000000009', 1, '{"steps": []}', '\x01026b31b1', 'removed', 'ada', now());
INSERT INTO run_steps (run_id, key, position, kind, title, status, sealed)
VALUES ('00000000-0000-4000-8000-000000000013', 'web', 0, 'service', 'Web', 'done', '\x01026b31b2'),
    ('00000000-0000-4000-8000-000000000015', 'seed', 0, 'plugin', 'Seed', 'failed', NULL);
INSERT INTO deployment_events (deployment_id, seq, kind) VALUES ('00000000-0000-4000-8000-000000000012', 1, 'deployment');
INSERT INTO log_lines (deployment_id, id, run_id, step, number, at, text)
VALUES ('00000000-0000-4000-8000-000000000012', 1, '00000000-0000-4000-8000-000000000013', 'web', 1, now(), 'listening');
INSERT INTO service_health (deployment_id, step, health) VALUES ('00000000-0000-4000-8000-000000000012', 'web', 'healthy');
INSERT INTO node_reports (node_id, last_seq) VALUES ('00000000-0000-4000-8000-000000000011', 4);
INSERT INTO deployment_secrets (deployment_id, name, sealed)
VALUES ('00000000-0000-4000-8000-000000000012', 'GENERATED', '\x01026b31b3');
