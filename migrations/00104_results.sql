-- +goose Up
-- What a step or a run came to, and what became of it afterwards, are two facts: a step that
-- failed and was undone has failed, and a good run stays good when its deployment is removed.
ALTER TABLE run_steps
    ADD COLUMN result text NOT NULL DEFAULT '' CHECK (result IN ('', 'done', 'failed')),
    ADD COLUMN undone_at timestamptz;
UPDATE run_steps SET result = CASE
    WHEN code = 'undo_failed' THEN CASE WHEN EXISTS (SELECT FROM runs r WHERE r.id = run_id
        AND r.failure_step = key) THEN 'failed' ELSE 'done' END
    WHEN status IN ('done', 'failed') THEN status
    WHEN status IN ('undoing', 'undone') AND code <> '' THEN 'failed'
    WHEN status IN ('undoing', 'undone') AND ended_at IS NOT NULL THEN 'done'
    ELSE '' END;

ALTER TABLE runs
    ADD COLUMN result text NOT NULL DEFAULT '' CHECK (result IN ('', 'ready', 'failed', 'canceled'));
UPDATE runs r SET result = CASE
    WHEN failure_code <> '' THEN 'failed'
    WHEN status IN ('ready', 'failed', 'canceled') THEN status
    WHEN status IN ('removing', 'removed', 'stuck', 'forgotten')
        AND EXISTS (SELECT FROM run_steps s WHERE s.run_id = r.id)
        AND NOT EXISTS (SELECT FROM run_steps s WHERE s.run_id = r.id AND s.result <> 'done')
        THEN 'ready'
    ELSE '' END;

-- +goose Down
ALTER TABLE run_steps DROP COLUMN result, DROP COLUMN undone_at;
ALTER TABLE runs DROP COLUMN result;
