INSERT INTO links (id, kind, hash, address, created_by, created_at, expires_at)
VALUES ('00000000-0000-4000-8000-000000000024', 'invitation', decode(repeat('05', 32), 'hex'), 'bob@example.com', 'ada', now(), now());
