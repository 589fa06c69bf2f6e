INSERT INTO review_rules (id, name, source, project, environment, tag, created_by)
VALUES ('00000000-0000-4000-8000-000000000020', 'pull-requests', 'github', 'shop', 'qa', 'pr-{{number}}', 'ada');
INSERT INTO reviews (id, rule_id, key, branch, tag, deployment, deployment_id, give_up_at)
VALUES ('00000000-0000-4000-8000-000000000021', '00000000-0000-4000-8000-000000000020', 'shop#1', 'feature/a', 'pr-1', 'feature-a', '00000000-0000-4000-8000-000000000012', now());
INSERT INTO review_events (rule_id, id) VALUES ('00000000-0000-4000-8000-000000000020', 'delivery-1');
