INSERT INTO volume_holds (deployment_id, purpose, by_name, holder)
VALUES ('00000000-0000-4000-8000-000000000012', 'backup', 'system:backup', 'host/1');
