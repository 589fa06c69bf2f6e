INSERT INTO review_aliases (environment_id, name, rule_id, deployment_id)
SELECT d.environment_id, 'latest--r', r.rule_id, d.id FROM reviews r
JOIN deployments d ON d.id = r.deployment_id LIMIT 1;
