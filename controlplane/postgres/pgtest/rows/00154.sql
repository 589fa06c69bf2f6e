INSERT INTO verdict_key (key, public_key) VALUES ('\x01026b31bb', 'pem');
INSERT INTO verdicts (id, deployment_id, run, outcome, digest_set, author, bundle, review_id, commit)
VALUES ('00000000-0000-4000-8000-000000015401', '00000000-0000-4000-8000-000000000012', 1, 'passed', repeat('a', 64), 'ada', '\x7b7d', '00000000-0000-4000-8000-000000000021', 'c1');
INSERT INTO verdict_images (verdict_id, image, digest)
VALUES ('00000000-0000-4000-8000-000000015401', 'localhost:5000/shop/api', 'sha256:aa');
