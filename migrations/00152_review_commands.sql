-- What people write below a pull request to NullOps, and where the code host shows its deployment.

-- +goose Up
CREATE TABLE review_commands (
    id         uuid PRIMARY KEY,
    review_id  uuid NOT NULL REFERENCES reviews ON DELETE CASCADE,
    -- What follows "/nullops", and who wrote it on the code host.
    verb       text NOT NULL CHECK (length(verb) BETWEEN 1 AND 40),
    author     text NOT NULL CHECK (length(author) BETWEEN 1 AND 200),
    author_id  text NOT NULL DEFAULT '',
    at         timestamptz NOT NULL DEFAULT now(),
    -- Empty until it is done.
    answer     text NOT NULL DEFAULT '' CHECK (length(answer) <= 500)
);
CREATE INDEX review_commands_review ON review_commands (review_id, at);
ALTER TABLE reviews
    -- The code host's own record of the deployment, and of which commit it is.
    ADD COLUMN host_record text NOT NULL DEFAULT '',
    ADD COLUMN host_commit text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE reviews DROP COLUMN host_commit, DROP COLUMN host_record;
DROP TABLE review_commands;
