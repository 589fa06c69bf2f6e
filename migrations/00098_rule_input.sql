-- What the deployments of a rule are created with, besides versions.

-- +goose Up
ALTER TABLE review_rules ADD COLUMN input jsonb NOT NULL DEFAULT '{}'
    CHECK (jsonb_typeof(input) = 'object');

-- +goose Down
ALTER TABLE review_rules DROP COLUMN input;
