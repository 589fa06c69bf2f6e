-- The control plane makes backups by itself: where each one is, how large it is, and when it was
-- proven by restoring it.

-- +goose Up
ALTER TABLE backups
    -- Empty for one that 'nullops backup' wrote: where it went is not known.
    ADD COLUMN name text NOT NULL DEFAULT '' CHECK (length(name) <= 200),
    ADD COLUMN bytes bigint NOT NULL DEFAULT 0 CHECK (bytes >= 0),
    ADD COLUMN verified_at timestamptz;

-- +goose Down
ALTER TABLE backups DROP COLUMN verified_at, DROP COLUMN bytes, DROP COLUMN name;
