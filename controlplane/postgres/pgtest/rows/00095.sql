INSERT INTO standby_hosts (process, url, expires_at)
VALUES ('host/1/0198c0de', 'https://10.0.0.7:8080', now() + interval '15 seconds');
