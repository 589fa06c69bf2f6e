INSERT INTO log_levels (component, level, until, set_by)
VALUES ('fleet', 'debug', now() + interval '1 hour', 'root');
INSERT INTO support_requests (id) VALUES ('00000000-0000-4000-8000-000000000137');
INSERT INTO support_parts (request_id, process, files)
VALUES ('00000000-0000-4000-8000-000000000137', 'host/1/a/controlplane', '\x7b7d');
