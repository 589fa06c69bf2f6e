INSERT INTO definition_owners (kind, name, owner) VALUES ('project', 'shop', 'platform');
