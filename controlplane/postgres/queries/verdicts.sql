-- name: InsertVerdict :exec
-- What QA says, about the images that run now. The commit is that of the pull request, if what
-- runs was built from it.
INSERT INTO verdicts (id, deployment_id, run, outcome, remarks, digest_set, user_id, author, at,
    bundle, review_id, commit)
SELECT @id, @deployment_id, @run, @outcome, @remarks, @digest_set, @user_id, @author, @at, @bundle,
    w.id, coalesce(w.commit, '')
FROM (SELECT 1) one LEFT JOIN LATERAL (SELECT r.id, r.commit FROM reviews r
    WHERE r.deployment_id = @deployment_id AND r.done = r.generation AND r.state = 'ready'
        AND r.next_id IS NULL AND r.commit <> ''
    ORDER BY r.changed_at DESC LIMIT 1) w ON true;

-- name: InsertVerdictImage :exec
-- An image that the statement is to be attached to.
INSERT INTO verdict_images (verdict_id, image, digest) VALUES (@verdict_id, @image, @digest)
ON CONFLICT DO NOTHING;

-- name: ReplaceVerdicts :exec
-- A newer verdict takes the place of the one that stood.
UPDATE verdicts SET voided_at = now(), voided_reason = 'a newer verdict was given'
WHERE deployment_id = @deployment_id AND voided_at IS NULL;

-- name: ListVerdicts :many
-- What was said of a deployment, the newest first.
SELECT * FROM verdicts WHERE deployment_id = @deployment_id ORDER BY id DESC LIMIT @most;

-- name: ListLatestVerdicts :many
-- What was said last of each deployment.
SELECT DISTINCT ON (deployment_id) * FROM verdicts WHERE deployment_id = ANY(@ids::uuid[])
ORDER BY deployment_id, id DESC;

-- name: GetVerdict :one
-- One verdict of a deployment.
SELECT * FROM verdicts WHERE id = @id AND deployment_id = @deployment_id;

-- name: GetVerdictOfCommit :one
-- What was said last about what was built from the commit of a pull request.
SELECT * FROM verdicts WHERE review_id = @review_id AND commit = @commit ORDER BY id DESC LIMIT 1;

-- name: ListVerdictImages :many
-- The images of verdicts, and how far their attachment is.
SELECT * FROM verdict_images WHERE verdict_id = ANY(@ids::uuid[]) ORDER BY image, digest;

-- name: LockVerdictImages :exec
-- So that two control planes do not claim two statements of one image.
SELECT pg_advisory_xact_lock(7311175);

-- name: ClaimVerdictImages :many
-- Images whose statement is not attached yet, the oldest first. Nobody else gets one of the same
-- images before the claim ends.
UPDATE verdict_images i SET claimed_until = now() + make_interval(secs => @seconds::double precision)
FROM verdicts v WHERE v.id = i.verdict_id AND (i.verdict_id, i.image, i.digest) IN (
    SELECT c.verdict_id, c.image, c.digest FROM verdict_images c
    WHERE c.attached_at IS NULL AND c.due_at <= now() AND c.attempts < @attempts
        AND NOT EXISTS (SELECT 1 FROM verdict_images o WHERE o.image = c.image
            AND o.digest = c.digest AND o.claimed_until > now())
    ORDER BY c.due_at LIMIT @most)
RETURNING i.verdict_id, i.image, i.digest, i.attempts, v.bundle, v.at;

-- name: RecordAttachment :exec
-- It is attached, or it is tried again later.
UPDATE verdict_images SET attempts = attempts + 1, problem = @problem, due_at = @due_at,
    attached_at = CASE WHEN @problem::text = '' THEN now() END, claimed_until = NULL
WHERE verdict_id = @verdict_id AND image = @image AND digest = @digest;

-- name: LockVerdictKey :exec
-- So that two control planes do not make two keys.
SELECT pg_advisory_xact_lock(7311154);

-- name: GetVerdictKey :one
-- The key that signs statements. No other transaction ends it before what it signs is stored.
SELECT key, public_key, created_at FROM verdict_key FOR SHARE;

-- name: EndVerdictKey :exec
-- Keeps the public key, and forgets the private one.
WITH ended AS (DELETE FROM verdict_key RETURNING public_key, created_at)
INSERT INTO former_verdict_keys (public_key, created_at, ended_at)
SELECT e.public_key, e.created_at, clock_timestamp() FROM ended e;

-- name: ListFormerVerdictKeys :many
-- Newest first.
SELECT public_key, created_at, ended_at FROM former_verdict_keys
ORDER BY ended_at DESC, public_key;

-- name: InsertVerdictKey :exec
-- It is made with the first statement.
INSERT INTO verdict_key (key, public_key, created_at) VALUES (@key, @public_key, clock_timestamp());
