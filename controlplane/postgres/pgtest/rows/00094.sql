INSERT INTO node_templates (name, description, settings)
VALUES ('gpu', 'machines with GPUs', '{"labels": {"gpu": "yes"}}');
