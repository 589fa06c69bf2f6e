INSERT INTO reach_tickets (digest, user_id, deployment_id, step, kind, expires_at)
VALUES ('\x08', '00000000-0000-4000-8000-000000000001', '00000000-0000-4000-8000-000000000012', 'web', 'terminal', now());
