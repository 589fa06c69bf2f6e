INSERT INTO usage_open (deployment_id, since, deployment, project_id, project, environment_id,
    environment, node, team, person, millicores, memory_mib, gpus)
VALUES ('00000000-0000-4000-8000-000000000012', '2026-11-26 10:00:00+00', 'cart',
    '00000000-0000-4000-8000-000000012001', 'shop', '00000000-0000-4000-8000-000000012002', 'qa',
    'n1', 'checkout', 'ada', 500, 256, 0);
INSERT INTO usage_ledger (kind, deployment_id, deployment, project_id, project, environment_id,
    environment, node, team, person, from_at, until_at, millicore_seconds, memory_mib_seconds,
    corrects, reason, written_by)
VALUES ('allocated', '00000000-0000-4000-8000-000000000012', 'cart',
        '00000000-0000-4000-8000-000000012001', 'shop', '00000000-0000-4000-8000-000000012002',
        'qa', 'n1', 'checkout', 'ada', '2026-11-26 09:00:00+00', '2026-11-26 10:00:00+00',
        1800000, 921600, NULL, '', 'system:usage-ledger');
INSERT INTO usage_ledger (kind, deployment_id, deployment, project_id, project, environment_id,
    environment, node, team, person, from_at, until_at, millicore_seconds, memory_mib_seconds,
    corrects, reason, written_by)
SELECT 'correction', deployment_id, deployment, project_id, project, environment_id,
    environment, node, team, person, from_at, until_at, -1800000, -921600, id, 'a test', 'ada'
FROM usage_ledger WHERE kind = 'allocated';
