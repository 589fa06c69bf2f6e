-- A deployment's name was taken as the identity of its review, although names
-- are shortened spellings of branches: two reviews could share a deployment.
-- The order in which events arrived was taken as the order in which they
-- happened.

-- +goose Up
ALTER TABLE reviews
    -- As the source spells it, unshortened: key may be shortened.
    ADD COLUMN repository text NOT NULL DEFAULT '',
    -- The host's own time of the newest event; null when it told none.
    ADD COLUMN event_at timestamptz;
CREATE INDEX reviews_deployment ON reviews (deployment);
CREATE INDEX reviews_deployment_id ON reviews (deployment_id) WHERE deployment_id IS NOT NULL;

-- Of reviews that share a name, one keeps it and what runs, the others get a
-- name of their own. What runs may be of any of them, so all are made anew.
-- Pushes of one tag to several repositories share a deployment on purpose.
WITH shared AS (
    SELECT r.id, u.wait_minutes,
        row_number() OVER (PARTITION BY u.environment, r.deployment
            ORDER BY r.want = 'present' DESC, r.id) AS nth,
        count(*) OVER (PARTITION BY u.environment, r.deployment) AS many
    FROM reviews r JOIN review_rules u ON u.id = r.rule_id
    WHERE u.source <> 'registry'
)
UPDATE reviews r SET
    deployment = CASE WHEN s.nth = 1 THEN r.deployment
        ELSE rtrim(left(r.deployment, 33), '-') || '-'
            || left(md5(r.rule_id::text || r.key), 6) END,
    deployment_id = CASE WHEN s.nth = 1 THEN r.deployment_id END,
    generation = CASE WHEN r.want = 'present' THEN r.generation + 1 ELSE r.generation END,
    state = CASE WHEN r.want = 'present' THEN 'waiting' ELSE r.state END,
    detail = CASE WHEN r.want = 'present' THEN '' ELSE r.detail END,
    give_up_at = CASE WHEN r.want = 'present' THEN now() + make_interval(mins => s.wait_minutes)
        ELSE r.give_up_at END,
    due_at = now()
FROM shared s WHERE s.id = r.id AND s.many > 1;

-- What was given up was called done. It is not: its deployment is the one before.
UPDATE reviews r SET done = r.generation - 1 FROM deployments d
WHERE d.id = r.deployment_id AND d.status = 'ready' AND r.state = 'failed'
    AND r.want = 'present' AND r.done = r.generation AND r.give_up_at < now();

-- +goose Down
DROP INDEX reviews_deployment_id;
DROP INDEX reviews_deployment;
ALTER TABLE reviews DROP COLUMN event_at, DROP COLUMN repository;
