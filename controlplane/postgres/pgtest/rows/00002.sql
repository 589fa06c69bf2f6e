INSERT INTO registries (id, name, host, username, password)
VALUES ('00000000-0000-4000-8000-000000000005', 'internal', 'registry.example:5000', 'robot', '\x01026b31aa');
INSERT INTO services (id, name, registry_id, image, tag_mode, pattern)
VALUES ('00000000-0000-4000-8000-000000000006', 'web', '00000000-0000-4000-8000-000000000005', 'shop/web', 'selectable', 'v*');
INSERT INTO plugins (id, name, registry_id, image, tag, digest, component)
VALUES ('00000000-0000-4000-8000-000000000007', 'seed', '00000000-0000-4000-8000-000000000005', 'plugins/seed', '1', 'sha256:' || repeat('a', 64), '{}');
INSERT INTO environments (id, name, domain) VALUES ('00000000-0000-4000-8000-000000000008', 'qa', 'lab.example');
INSERT INTO projects (id, name, cpu, memory_mib) VALUES ('00000000-0000-4000-8000-000000000009', 'shop', 2, 1024);
INSERT INTO pipeline_versions (project_id, version, pipeline, digest, created_by)
VALUES ('00000000-0000-4000-8000-000000000009', 1, '{"steps": []}', 'sha256:1', 'ada');
INSERT INTO project_services VALUES ('00000000-0000-4000-8000-000000000009', '00000000-0000-4000-8000-000000000006');
INSERT INTO project_plugins VALUES ('00000000-0000-4000-8000-000000000009', '00000000-0000-4000-8000-000000000007');
INSERT INTO secrets (id, project_id, name, version, value, updated_at)
VALUES ('00000000-0000-4000-8000-000000000010', '00000000-0000-4000-8000-000000000009', 'TOKEN', 1, '\x01026b31ab', now());
INSERT INTO key_check (kid, sealed) VALUES ('k1', '\x01026b31ac');
INSERT INTO grants (team_id, project_id, level) VALUES ('00000000-0000-4000-8000-000000000004', '00000000-0000-4000-8000-000000000009', 'full');
INSERT INTO grants (team_id, environment_id, level) VALUES ('00000000-0000-4000-8000-000000000004', '00000000-0000-4000-8000-000000000008', 'read');
