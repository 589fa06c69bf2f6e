INSERT INTO processes (id, role, release) VALUES ('host/1/a/controlplane', 'controlplane', 'v1'),
    ('host/2/b/ingress', 'ingress', 'v1');
INSERT INTO backups (error) VALUES (''), ('no disk');
INSERT INTO alerts (id, condition, subject, severity, label, detail, deployment_id, active_at)
VALUES ('00000000-0000-4000-8000-000000000117', 'deployment.stuck',
    '00000000-0000-4000-8000-000000000012', 'critical', 'first', 'a volume is left',
    '00000000-0000-4000-8000-000000000012', now());
INSERT INTO alert_silences (condition, subject, until, created_by)
VALUES ('backup.failed', '', now() + interval '1 hour', 'root');
