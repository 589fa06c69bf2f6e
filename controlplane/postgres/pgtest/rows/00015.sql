INSERT INTO unknown_deployments (node_id, deployment_id, name, project, environment, phase, found_at)
VALUES ('00000000-0000-4000-8000-000000000011', gen_random_uuid(), 'stray', 'shop', 'qa', 'ready', now());
