UPDATE run_steps SET tests = '{"tests": 3, "failed": 1, "names": ["pays by card"]}'
WHERE run_id = '00000000-0000-4000-8000-000000000013' AND key = 'ask';
INSERT INTO test_reports (run_id, step, failures, truncated)
VALUES ('00000000-0000-4000-8000-000000000013', 'ask', '[{"name": "pays by card"}]', false);
