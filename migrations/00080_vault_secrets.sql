-- A project's secret may be kept in Vault: the row says where, and never holds its value.
-- A run reads it once; what the run uses is sealed with the run (run_secrets).

-- +goose Up
ALTER TABLE secrets ADD COLUMN vault_path text CHECK (vault_path <> '');
ALTER TABLE secrets ADD COLUMN vault_field text CHECK (vault_field <> '');
ALTER TABLE secrets DROP CONSTRAINT secrets_source;
-- Exactly one source: a sealed value, a length with its alphabet, a pattern, or a path.
ALTER TABLE secrets ADD CONSTRAINT secrets_source
    CHECK (num_nonnulls(value, length, pattern, vault_path) = 1
        AND (length IS NULL) = (alphabet IS NULL)
        AND (vault_path IS NULL) = (vault_field IS NULL));

-- +goose Down
-- Nothing older can read Vault. Of such a secret stays that it exists: one is generated.
UPDATE secrets SET length = 32, alphabet = 'alphanumeric', vault_path = NULL, vault_field = NULL
    WHERE vault_path IS NOT NULL;
ALTER TABLE secrets DROP CONSTRAINT secrets_source;
ALTER TABLE secrets DROP COLUMN vault_path;
ALTER TABLE secrets DROP COLUMN vault_field;
ALTER TABLE secrets ADD CONSTRAINT secrets_source
    CHECK (num_nonnulls(value, length, pattern) = 1 AND (length IS NULL) = (alphabet IS NULL));
