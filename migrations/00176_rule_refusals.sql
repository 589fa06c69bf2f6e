-- That a code host refuses what a rule tells it was only in the log.

-- +goose Up
-- What the code host refused last; empty if it took what it was told last.
ALTER TABLE review_rules ADD COLUMN refusal text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE review_rules DROP COLUMN refusal;
