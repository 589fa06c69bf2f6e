-- Some authorities only make an account for who proves to be a customer: external
-- account binding (RFC 8555, 7.3.4), a key's id and the key.

-- +goose Up
ALTER TABLE acme_settings
    ADD COLUMN eab_key_id text NOT NULL DEFAULT '' CHECK (length(eab_key_id) <= 500),
    -- The key, sealed.
    ADD COLUMN eab_key bytea,
    ADD CHECK ((eab_key_id = '') = (eab_key IS NULL));
-- A customer's account is not another one's.
ALTER TABLE acme_accounts
    ADD COLUMN eab_key_id text NOT NULL DEFAULT '',
    DROP CONSTRAINT acme_accounts_directory_email_key,
    ADD UNIQUE (directory, email, eab_key_id);

-- +goose Down
DELETE FROM acme_accounts WHERE eab_key_id <> '';
ALTER TABLE acme_accounts DROP COLUMN eab_key_id, ADD UNIQUE (directory, email);
ALTER TABLE acme_settings DROP COLUMN eab_key, DROP COLUMN eab_key_id;
