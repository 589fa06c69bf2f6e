-- What a deployment looks like in a list follows from rows of several tables. A
-- row that changes gets another xmin: two states that are equal are of the same
-- rows, and what was made of them need not be read again. A node's row changes
-- with every sign of life, so that only what is shown of it counts.

-- +goose Up
CREATE VIEW deployment_states AS
SELECT d.id,
    concat_ws(' ', d.xmin, coalesce(l.xmin, '0'), coalesce(m.xmin, '0'), p.xmin, e.xmin, n.status,
        n.since)::text AS state
FROM deployments d
JOIN projects p ON p.id = d.project_id
JOIN environments e ON e.id = d.environment_id
LEFT JOIN nodes n ON n.id = d.node_id
LEFT JOIN deployment_lives l ON l.deployment_id = d.id
LEFT JOIN relocations m ON m.deployment_id = d.id;

-- +goose Down
DROP VIEW deployment_states;
