INSERT INTO node_events (node_id, kind) VALUES ('00000000-0000-4000-8000-000000000011', 'online');
INSERT INTO forgotten_nodes (name, environment, address, thumbprint, forgotten_by, left_behind)
VALUES ('beta', 'qa', 'beta.example:5000', '', 'ada', '[]');
