INSERT INTO deployment_visitors (deployment_id, visitor, kind, visitors)
SELECT id, 'ingress', 'count', 2 FROM deployments LIMIT 1;
