INSERT INTO environment_gates VALUES ('00000000-0000-4000-8000-000000000008', 'members', false);
INSERT INTO deployment_gates VALUES ('00000000-0000-4000-8000-000000000012', 'guests');
INSERT INTO gate_passes (id, kind, hash, environment_id, deployment_id, session_id, user_id,
    created_by, created_at, expires_at)
VALUES ('00000000-0000-4000-8000-000000000025', 'visit', decode(repeat('06', 32), 'hex'), '00000000-0000-4000-8000-000000000008', '00000000-0000-4000-8000-000000000012', '00000000-0000-4000-8000-000000000002', '00000000-0000-4000-8000-000000000001', 'ada', now(),
    now()), ('00000000-0000-4000-8000-000000000026', 'robot', decode(repeat('07', 32), 'hex'), '00000000-0000-4000-8000-000000000008', NULL, NULL, NULL, 'ada', now(),
    now());
