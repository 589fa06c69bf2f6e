-- Pull requests from forks: whoever may write to the repository approves each commit.

-- +goose Up
ALTER TABLE review_rules ADD COLUMN forks boolean NOT NULL DEFAULT false;
ALTER TABLE reviews
    ADD COLUMN fork boolean NOT NULL DEFAULT false,
    -- The commit of a fork that may be deployed; empty for none.
    ADD COLUMN approved_commit text NOT NULL DEFAULT '';
-- What follows the verb of a command.
ALTER TABLE review_commands ADD COLUMN argument text NOT NULL DEFAULT ''
    CHECK (length(argument) <= 100);

-- +goose Down
ALTER TABLE review_commands DROP COLUMN argument;
ALTER TABLE reviews DROP COLUMN approved_commit, DROP COLUMN fork;
ALTER TABLE review_rules DROP COLUMN forks;
