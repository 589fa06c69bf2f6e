-- Who waited for a turn on a node that was given up is gone, and waited on: nobody in
-- the environment got a turn any more once the deadline of such a run had passed.

-- +goose Up
UPDATE queue q SET left_at = d.changed_at, position = 0 FROM deployments d
WHERE d.id = q.deployment_id AND q.left_at IS NULL
    AND d.status IN ('canceled', 'removed', 'forgotten');

-- +goose Down
-- That they do not wait is true of the schema before, too.
SELECT 1;
