INSERT INTO offers (id, node_id, run_id, status, deployment, cpu, memory_mib, gpus, reason, expires_at)
SELECT '00000000-0000-4000-8000-000000009901', n.id, '00000000-0000-4000-8000-000000000013',
    'declined', '{"name": "cart"}', 0.5, 256, '{"0"}', 'the site is closed', now()
FROM nodes n ORDER BY n.name LIMIT 1;
