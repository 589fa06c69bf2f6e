INSERT INTO node_ssh (node_id, host, port, username, host_key, credential, plan)
VALUES ('00000000-0000-4000-8000-000000000011', 'alpha.example', 22, 'root', 'SHA256:' || repeat('A', 43), '\x01026b31b4', '{}');
INSERT INTO provision_attempts (node_id, number, state, started_by, ended_at)
VALUES ('00000000-0000-4000-8000-000000000011', 1, 'ready', 'ada', now());
INSERT INTO provision_steps (node_id, number, seq, key, status, ended_at)
VALUES ('00000000-0000-4000-8000-000000000011', 1, 1, 'connect', 'done', now());
