INSERT INTO certificates (id, name, chain, key, created_by, created_at)
VALUES ('00000000-0000-4000-8000-000000000016', 'lab', 'PEM', '\x01026b31b5', 'ada', now());
INSERT INTO certificate_authority (id, certificate, key, created_by, created_at)
VALUES ('00000000-0000-4000-8000-000000000017', 'PEM', '\x01026b31b6', 'ada', now());
