INSERT INTO drafts (project_id, user_id, base_version, content)
VALUES ('00000000-0000-4000-8000-000000000009', '00000000-0000-4000-8000-000000000001', 1, '{}');
