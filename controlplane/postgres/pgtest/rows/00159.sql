INSERT INTO device_logins (id, hash, code, name, address, scope, created_at, expires_at)
VALUES (gen_random_uuid(), decode(repeat('0a', 32), 'hex'), 'bcdfghjk', 'laptop', '192.0.2.1', 'full',
    now(), now() + interval '10 minutes');
