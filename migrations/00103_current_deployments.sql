-- An installation keeps far more deployments that are gone than it has others. Everything that is
-- asked every few seconds is about the others: lists, what is on a node, what runs under way.

-- +goose Up
CREATE INDEX deployments_current ON deployments (id)
    WHERE status NOT IN ('canceled', 'removed', 'forgotten');
CREATE INDEX deployments_present ON deployments (node_id)
    WHERE node_id IS NOT NULL AND status NOT IN ('canceled', 'removed', 'forgotten');
-- Counted for every scrape of the metrics: an index is much smaller than the runs' pipelines.
CREATE INDEX runs_status ON runs (status);

-- +goose Down
DROP INDEX deployments_current, deployments_present, runs_status;
