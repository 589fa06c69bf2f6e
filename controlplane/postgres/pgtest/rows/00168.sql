INSERT INTO definition_sources (id, name, url, branch, period_minutes, mode)
VALUES ('00000000-0000-4000-8000-000000016801', 'platform', 'https://git.test/platform.git', 'main', 5, 'confirm');
INSERT INTO definition_source_files (source_id, commit, files)
VALUES ('00000000-0000-4000-8000-000000016801', 'c1', '[]');
