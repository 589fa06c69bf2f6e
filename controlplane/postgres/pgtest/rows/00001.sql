INSERT INTO users (id, name, display_name, role, password_hash)
VALUES ('00000000-0000-4000-8000-000000000001', 'ada', 'Ada', 'admin', '$argon2id$v=19$m=65536,t=1,p=2$c2FsdA$aGFzaA');
INSERT INTO sessions (id, user_id, hash, created_at, last_used_at, expires_at)
VALUES ('00000000-0000-4000-8000-000000000002', '00000000-0000-4000-8000-000000000001', decode(repeat('01', 32), 'hex'), now(), now(), now() + interval '1 day');
INSERT INTO api_tokens (id, user_id, name, prefix, hash, created_at)
VALUES ('00000000-0000-4000-8000-000000000003', '00000000-0000-4000-8000-000000000001', 'ci', 'nop_1234', decode(repeat('02', 32), 'hex'), now());
INSERT INTO teams (id, name) VALUES ('00000000-0000-4000-8000-000000000004', 'payments');
INSERT INTO memberships (team_id, user_id) VALUES ('00000000-0000-4000-8000-000000000004', '00000000-0000-4000-8000-000000000001');
INSERT INTO audit (actor, actor_id, action, object, result)
VALUES ('ada', '00000000-0000-4000-8000-000000000001', 'create user', 'user ada', 'ok');
INSERT INTO idempotency_keys (user_id, operation, key, request, object_id)
VALUES ('00000000-0000-4000-8000-000000000001', 'createDeployment', 'once', decode(repeat('03', 32), 'hex'), '00000000-0000-4000-8000-000000000012');
