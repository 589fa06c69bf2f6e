-- A rule may be for some pull requests only: by the branch they go into, labels, authors, changed
-- files, and whether they are drafts. One that is outside of it has no deployment, and says why.

-- +goose Up
ALTER TABLE review_rules ADD COLUMN filter jsonb NOT NULL DEFAULT '{}'
    CHECK (jsonb_typeof(filter) = 'object');
ALTER TABLE reviews ADD COLUMN outside text NOT NULL DEFAULT ''
    CHECK (length(outside) <= 500 AND (outside = '' OR want = 'gone'));

-- +goose Down
ALTER TABLE reviews DROP COLUMN outside;
ALTER TABLE review_rules DROP COLUMN filter;
