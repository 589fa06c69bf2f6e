-- A generated secret may be spelled by a pattern, such as LIC-[A-Z]{4}-[0-9]{12},
-- for software that wants its keys in a form of its own.

-- +goose Up
ALTER TABLE secrets ADD COLUMN pattern text CHECK (pattern <> '');
ALTER TABLE secrets DROP CONSTRAINT secrets_check;
ALTER TABLE secrets DROP CONSTRAINT secrets_check1;
-- Exactly one source: a sealed value, a length with its alphabet, or a pattern.
ALTER TABLE secrets ADD CONSTRAINT secrets_source
    CHECK (num_nonnulls(value, length, pattern) = 1 AND (length IS NULL) = (alphabet IS NULL));

-- +goose Down
-- Of a pattern stays that the secret is generated; nothing older can spell it.
UPDATE secrets SET length = 32, alphabet = 'alphanumeric' WHERE pattern IS NOT NULL;
ALTER TABLE secrets DROP CONSTRAINT secrets_source;
ALTER TABLE secrets DROP COLUMN pattern;
ALTER TABLE secrets ADD CONSTRAINT secrets_check CHECK ((value IS NULL) = (length IS NOT NULL));
ALTER TABLE secrets ADD CONSTRAINT secrets_check1 CHECK ((length IS NULL) = (alphabet IS NULL));
