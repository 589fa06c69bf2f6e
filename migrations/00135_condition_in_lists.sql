-- A list by status asks the condition of every deployment that is there. PostgreSQL runs a function
-- with a query inside once for each row; told whether the node is away, it is part of the
-- statement, which reads the nodes that are away once.

-- +goose Up
-- +goose StatementBegin
CREATE FUNCTION deployment_condition(status text, degraded text, away boolean) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN away AND status IN ('applying', 'ready', 'undoing', 'removing', 'stuck') THEN 'offline'
        WHEN status = 'ready' AND degraded <> '' THEN 'degraded'
        ELSE status END
$$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION deployment_condition(status text, degraded text, node uuid) RETURNS text
LANGUAGE sql STABLE AS $$
    SELECT deployment_condition(status, degraded,
        EXISTS (SELECT FROM nodes n WHERE n.id = node AND n.status <> 'online'))
$$;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION deployment_condition(status text, degraded text, node uuid) RETURNS text
LANGUAGE sql STABLE AS $$
    SELECT CASE
        WHEN status IN ('applying', 'ready', 'undoing', 'removing', 'stuck')
            AND EXISTS (SELECT FROM nodes n WHERE n.id = node AND n.status <> 'online')
            THEN 'offline'
        WHEN status = 'ready' AND degraded <> '' THEN 'degraded'
        ELSE status END
$$;
-- +goose StatementEnd
DROP FUNCTION deployment_condition(text, text, boolean);
