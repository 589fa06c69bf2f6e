INSERT INTO acme_settings
VALUES ('00000000-0000-4000-8000-000000000008', 'dns-01', 'https://acme.example', '', '', 'rfc2136', 'ns.example', 'key', '\x01026b31b8');
INSERT INTO acme_accounts (id, directory, email, location, key)
VALUES ('00000000-0000-4000-8000-000000000022', 'https://acme.example', '', 'https://acme.example/1', '\x01026b31b9');
INSERT INTO acme_certificates (id, environment_id, subject, names, wanted, chain, key, next_try)
VALUES ('00000000-0000-4000-8000-000000000023', '00000000-0000-4000-8000-000000000008', '*.qa.lab.example', '{*.qa.lab.example}', true, 'PEM', '\x01026b31ba', now());
INSERT INTO acme_challenges VALUES ('web.first.qa.lab.example', 'token', 'answer', now());
