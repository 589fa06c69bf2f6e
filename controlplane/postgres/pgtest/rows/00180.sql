INSERT INTO former_verdict_keys (public_key, created_at, ended_at)
VALUES ('former', now() - interval '1 year', now());
