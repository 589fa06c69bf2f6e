INSERT INTO deployment_lives (deployment_id, hold_owner, hold_since)
VALUES ('00000000-0000-4000-8000-000000000012', 'ada', now());
