INSERT INTO templates (project_id, name, data, updated_by)
VALUES ('00000000-0000-4000-8000-000000000009', 'small', '{}', 'ada');
