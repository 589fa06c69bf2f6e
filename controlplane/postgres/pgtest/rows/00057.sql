INSERT INTO relocations (deployment_id, node_id, phase, by_name)
VALUES ('00000000-0000-4000-8000-000000000012', '00000000-0000-4000-8000-000000000011', 'measuring', 'ada');
