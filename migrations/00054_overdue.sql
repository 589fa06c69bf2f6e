-- Every other second somebody asks which runs under way are past their
-- deadline: those that have not ended have to be found without reading all that
-- ever were.

-- +goose Up
CREATE INDEX runs_under_way ON runs (id) WHERE ended_at IS NULL;

-- +goose Down
DROP INDEX runs_under_way;
