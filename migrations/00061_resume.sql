-- A service that is never restarted, and was still at work when its node's volumes were
-- to be copied, was ended for that. It goes on where the deployment goes.

-- +goose Up
ALTER TABLE relocations ADD COLUMN resume text[] NOT NULL DEFAULT '{}';

-- +goose Down
ALTER TABLE relocations DROP COLUMN resume;
