INSERT INTO nodes (id, name, environment_id, address, status, thumbprint)
VALUES ('00000000-0000-4000-8000-000000000011', 'alpha', '00000000-0000-4000-8000-000000000008', 'alpha.example:5000', 'online', repeat('b', 64));
INSERT INTO node_tokens (kid, node_id, verifier) VALUES ('t1', '00000000-0000-4000-8000-000000000011', '\x01026b31ad');
INSERT INTO node_leases VALUES ('00000000-0000-4000-8000-000000000011', 'replica-1', 7, now());
INSERT INTO identity (certificate, key) VALUES ('\x30', '\x01026b31ae');
