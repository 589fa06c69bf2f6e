-- +goose Up
-- A token may only read, and may end by itself. A session says where it is, so
-- that its owner knows which one to end.
ALTER TABLE api_tokens
    ADD COLUMN scope      text NOT NULL DEFAULT 'full' CHECK (scope IN ('read', 'full')),
    ADD COLUMN expires_at timestamptz;
ALTER TABLE sessions
    ADD COLUMN origin text NOT NULL DEFAULT '',
    ADD COLUMN device text NOT NULL DEFAULT '' CHECK (length(device) <= 200);

-- +goose Down
ALTER TABLE sessions DROP COLUMN origin, DROP COLUMN device;
ALTER TABLE api_tokens DROP COLUMN scope, DROP COLUMN expires_at;
