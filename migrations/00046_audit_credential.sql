-- The audit says with which session or API token something was done, and a way
-- into a service belongs to the one that asked for it, not just to its person.

-- +goose Up
-- "token" and its public prefix, or "session" and its id; empty for entries from
-- before, for systems, and for who only just signs in. The chain covers it where
-- it is not empty, so that older links hold.
ALTER TABLE audit ADD COLUMN credential text NOT NULL DEFAULT '';
ALTER TABLE reach_tickets RENAME COLUMN session TO credential;

-- +goose Down
ALTER TABLE reach_tickets RENAME COLUMN credential TO session;
ALTER TABLE audit DROP COLUMN credential;
