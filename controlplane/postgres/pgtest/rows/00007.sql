INSERT INTO run_steps (run_id, key, position, kind, title, status)
VALUES ('00000000-0000-4000-8000-000000000013', 'ask', 1, 'approval', 'Ask', 'waiting');
INSERT INTO approvals (run_id, step, prompt, asked_at, deadline, approval)
VALUES ('00000000-0000-4000-8000-000000000013', 'ask', 'Go on?', now(), now() + interval '1 hour', '{}');
