INSERT INTO second_factors (id, user_id, kind, name, confirmed, seed, created_at)
VALUES ('00000000-0000-4000-8000-000000000131', '00000000-0000-4000-8000-000000000001', 'totp', 'phone', true, '\x01026b31bb', now());
INSERT INTO second_factors (id, user_id, kind, name, confirmed, credential_id, passkey, created_at)
VALUES ('00000000-0000-4000-8000-000000000132', '00000000-0000-4000-8000-000000000001', 'passkey', 'laptop', true, 'AQID', '{}', now());
INSERT INTO recovery_codes (user_id, hash) VALUES ('00000000-0000-4000-8000-000000000001', repeat('d', 64));
INSERT INTO passkey_challenges (hash, purpose, user_id, ceremony, expires_at)
VALUES (repeat('e', 64), 'add', '00000000-0000-4000-8000-000000000001', '{}', now());
