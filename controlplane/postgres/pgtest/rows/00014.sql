INSERT INTO jobs (name, every) VALUES ('purge logs', '1 hour');
