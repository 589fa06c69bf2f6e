INSERT INTO ingress_values (name, sealed) VALUES ('identity', '\x01026b31b7');
