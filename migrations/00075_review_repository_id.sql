-- The code host's own id of a repository, which outlives its name; empty where it
-- sends none, and for reviews of before until their next event.
-- +goose Up
ALTER TABLE reviews ADD COLUMN repository_id text NOT NULL DEFAULT '';
CREATE INDEX reviews_repository_id ON reviews (rule_id, repository_id, number)
    WHERE repository_id <> '';

-- +goose Down
DROP INDEX reviews_repository_id;
ALTER TABLE reviews DROP COLUMN repository_id;
