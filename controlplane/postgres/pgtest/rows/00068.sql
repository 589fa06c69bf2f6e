INSERT INTO known_devices (hash, user_id, used_at) VALUES (repeat('c', 64), '00000000-0000-4000-8000-000000000001', now());
