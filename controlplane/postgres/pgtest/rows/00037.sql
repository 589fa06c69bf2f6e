INSERT INTO outward_secrets VALUES ('webhook-1', '\x01026b31b7');
INSERT INTO webhooks (id, name, kind, host, events, created_by)
VALUES ('00000000-0000-4000-8000-000000000018', 'chat', 'slack', 'chat.example', '{deployment.ready}', 'ada');
INSERT INTO notification_choices (user_id, position, email, events)
VALUES ('00000000-0000-4000-8000-000000000001', 0, 'ada@example.com', '{deployment.failed}');
INSERT INTO notices (event, deployment_id) VALUES ('deployment.ready', '00000000-0000-4000-8000-000000000012');
INSERT INTO deliveries (id, webhook_id, event, body) VALUES ('00000000-0000-4000-8000-000000000019', '00000000-0000-4000-8000-000000000018', 'deployment.ready', '{}');
