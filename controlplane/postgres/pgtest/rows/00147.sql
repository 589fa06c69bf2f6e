INSERT INTO backups (name, bytes, verified_at)
VALUES ('nullops-20300102T150000Z.backup', 4096, now());
