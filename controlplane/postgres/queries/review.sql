-- name: ListReviewRules :many
-- Rules by name, one page.
SELECT * FROM review_rules WHERE name > @after ORDER BY name LIMIT @most;

-- name: GetReviewRule :one
-- A rule by name.
SELECT * FROM review_rules WHERE name = @name;

-- name: GetReviewRuleByID :one
-- The rule of a review.
SELECT * FROM review_rules WHERE id = @id;

-- name: PutReviewRule :exec
-- Inserts, or replaces what an admin says about it.
INSERT INTO review_rules (id, name, source, repository, project, environment, branch, tag,
    wait_minutes, api_url, active, created_by, input, filter, updates, aliases, forks, data,
    schedule, next_run_at)
VALUES (@id, @name, @source, @repository, @project, @environment, @branch, @tag,
    @wait_minutes, @api_url, @active, @created_by, @input, @filter, @updates, @aliases, @forks,
    @data, @schedule, @next_run_at)
ON CONFLICT (id) DO UPDATE SET source = excluded.source, repository = excluded.repository,
    project = excluded.project, environment = excluded.environment, branch = excluded.branch,
    tag = excluded.tag, wait_minutes = excluded.wait_minutes, api_url = excluded.api_url,
    active = excluded.active, input = excluded.input, filter = excluded.filter,
    updates = excluded.updates, aliases = excluded.aliases, forks = excluded.forks,
    data = excluded.data, schedule = excluded.schedule, next_run_at = excluded.next_run_at,
    refusal = '';

-- name: ClaimDueRules :many
-- Rules whose time has come. Whoever has them locked sets their next time.
SELECT * FROM review_rules WHERE active AND next_run_at <= now()
ORDER BY next_run_at LIMIT @most FOR UPDATE SKIP LOCKED;

-- name: SetNextRun :exec
-- When a rule deploys next.
UPDATE review_rules SET next_run_at = sqlc.narg(next_run_at) WHERE id = @id;

-- name: SetRuleRefusal :exec
-- What a rule's code host refused, or that it took what it was told.
UPDATE review_rules SET refusal = @refusal WHERE id = @id AND refusal <> @refusal;

-- name: DeleteReviewRule :exec
-- With its reviews; deployments stay.
DELETE FROM review_rules WHERE id = @id;

-- name: InsertReviewEvent :execrows
-- Nothing when the same came in not longer ago than this.
INSERT INTO review_events (rule_id, id) VALUES (@rule_id, @id)
ON CONFLICT (rule_id, id) DO UPDATE SET at = now()
WHERE review_events.at < now() - make_interval(secs => @seconds::float8);

-- name: ForgetReviewEvents :execrows
-- Those too old to be accepted again, a bounded number.
DELETE FROM review_events WHERE ctid IN (
    SELECT e.ctid FROM review_events e WHERE e.at < @before LIMIT @most);

-- name: PutReview :exec
-- A pull request as it is now. What it wanted before is superseded. Events
-- without a time do not forget the time of the newest one. What is of a fork stays that.
INSERT INTO reviews (id, rule_id, key, repository, repository_id, number, title, branch, commit,
    link, tag, want, outside, deployment, give_up_at, event_at, fork)
VALUES (@id, @rule_id, @key, @repository, @repository_id, @number, @title, @branch, @commit,
    @link, @tag, @want, @outside, @deployment, @give_up_at, @event_at, @fork)
ON CONFLICT (rule_id, key) DO UPDATE SET repository = excluded.repository,
    repository_id = excluded.repository_id,
    number = excluded.number, title = excluded.title,
    branch = excluded.branch, commit = excluded.commit, link = excluded.link, tag = excluded.tag,
    want = excluded.want, outside = excluded.outside, give_up_at = excluded.give_up_at, generation = reviews.generation + 1,
    event_at = coalesce(excluded.event_at, reviews.event_at), fork = reviews.fork OR excluded.fork,
    state = 'waiting', detail = '', due_at = now(), changed_at = now();

-- name: InsertClosedReview :exec
-- A pull request of which nothing but its close is known. Nothing is to be done.
INSERT INTO reviews (id, rule_id, key, repository, repository_id, number, title, branch, commit,
    link, tag, want, outside, deployment, give_up_at, event_at, detail, fork, state, done, told)
VALUES (@id, @rule_id, @key, @repository, @repository_id, @number, @title, @branch, @commit,
    @link, @tag, 'gone', @outside, @deployment, @give_up_at, @event_at, @detail, @fork, 'removed', 1, 1)
ON CONFLICT (rule_id, key) DO NOTHING;

-- name: CloseReview :exec
-- What the code host said when it was asked, unless an event came in meanwhile.
UPDATE reviews SET want = 'gone', outside = @outside, generation = generation + 1,
    event_at = greatest(event_at, sqlc.narg('event_at')::timestamptz),
    state = 'waiting', detail = @detail, due_at = now(), changed_at = now()
WHERE id = @id AND generation = @generation;

-- name: TouchReview :exec
-- An event that changed nothing still says how new what we know is.
UPDATE reviews SET event_at = greatest(event_at, @event_at) WHERE id = @id;

-- name: GetReview :one
-- One review of a rule.
SELECT * FROM reviews WHERE rule_id = @rule_id AND key = @key;

-- name: GetReviewOfRepository :one
-- The review of a pull request by its host's own id of the repository.
SELECT * FROM reviews WHERE rule_id = @rule_id AND repository_id = @repository_id
    AND number = @number AND repository_id <> '' ORDER BY id LIMIT 1;

-- name: GetReviewOfTag :one
-- The review of a pushed tag or branch, whichever repository it was pushed to.
SELECT * FROM reviews WHERE rule_id = @rule_id AND number = 0 AND branch = @branch
ORDER BY want = 'present' DESC, id LIMIT 1;

-- name: CountReviewsNamed :one
-- How many reviews, of whatever rule, have deployments of this name.
SELECT count(*) FROM reviews WHERE deployment = @deployment;

-- name: CountOtherOwners :one
-- How many other reviews made this deployment.
SELECT count(*) FROM reviews
WHERE (deployment_id = @deployment_id OR next_id = @deployment_id) AND id <> @id;

-- name: ListPullRequests :many
-- The pull requests that deployments were made for. The remark is about the newest update.
SELECT DISTINCT ON (x.deployment_id) x.deployment_id::uuid AS deployment_id, r.repository,
    r.number, r.title, r.link, CASE WHEN x.newest THEN r.remark ELSE '' END AS remark
FROM (
    SELECT a.deployment_id, a.id, true AS newest
        FROM reviews a WHERE a.deployment_id = ANY(@ids::uuid[])
    UNION ALL SELECT b.next_id, b.id, true FROM reviews b WHERE b.next_id = ANY(@ids::uuid[])
    UNION ALL SELECT l.deployment_id, c.id, false FROM deployment_lives l
        JOIN reviews c ON c.deployment_id = l.successor_id WHERE l.deployment_id = ANY(@ids::uuid[])
) x JOIN reviews r ON r.id = x.id
WHERE r.number > 0
ORDER BY x.deployment_id, r.changed_at DESC;

-- name: ListReviews :many
-- A rule's reviews, the last changed first.
SELECT * FROM reviews WHERE rule_id = @rule_id ORDER BY changed_at DESC LIMIT @most;

-- name: ClaimReviews :many
-- What is to be looked at, taken for as long as that may last: what is not done
-- and not given up, what was not told, what more images may come for, what was late but may get
-- ready, and whose deployment is not ready any more. A claim that lasts too long is from before the
-- clock was set back.
UPDATE reviews SET claimed_until = now() + make_interval(secs => @hold::float8)
WHERE id IN (
    SELECT r.id FROM reviews r JOIN review_rules u ON u.id = r.rule_id
    WHERE r.due_at <= now() AND u.active
        AND (r.told < r.generation OR r.state = 'creating'
            OR r.verdict_told < r.verdict_wanted
            OR EXISTS (SELECT FROM review_commands c WHERE c.review_id = r.id AND c.answer = '')
            OR r.done < r.generation
                AND NOT (r.want = 'present' AND r.state = 'failed' AND r.give_up_at < now())
            OR r.done = r.generation AND r.want = 'present' AND r.state IN ('ready', 'failed')
                AND r.give_up_at > now()
            OR r.done = r.generation AND r.want = 'present' AND r.state = 'failed'
                AND EXISTS (SELECT FROM deployments d
                    WHERE d.id = coalesce(r.next_id, r.deployment_id)
                    AND d.status IN ('queued', 'applying', 'ready'))
            OR r.done = r.generation AND r.want = 'present' AND r.state = 'ready'
                AND NOT EXISTS (SELECT FROM deployments d
                    WHERE d.id = r.deployment_id AND d.status = 'ready' AND d.degraded = '')
            OR r.done = r.generation AND r.want = 'present' AND r.state = 'failed'
                AND NOT EXISTS (SELECT FROM deployments d WHERE d.id = r.deployment_id
                    AND d.status NOT IN ('canceled', 'removed', 'forgotten')))
        AND (r.claimed_until IS NULL OR r.claimed_until < now()
            OR r.claimed_until > now() + make_interval(secs => 2 * @hold::float8))
    ORDER BY r.due_at LIMIT @most FOR UPDATE OF r SKIP LOCKED
) RETURNING *;

-- name: SaveReview :exec
-- What became of it, unless something new came in meanwhile. With another deployment the status of
-- a commit that has a verdict becomes another one.
UPDATE reviews SET state = @state, detail = @detail, done = @done, told = @told,
    comment_id = @comment_id, deployment_id = @deployment_id, next_id = @next_id,
    remark = @remark, waits_since = @waits_since, host_record = @host_record, host_commit = @host_commit,
    due_at = @due_at, claimed_until = NULL, verdict_told = @verdict_told,
    verdict_wanted = verdict_wanted + CASE WHEN reviews.deployment_id IS DISTINCT FROM @deployment_id::uuid
        AND EXISTS (SELECT FROM verdicts v WHERE v.review_id = reviews.id
            AND v.commit = reviews.commit) THEN 1 ELSE 0 END,
    changed_at = CASE WHEN state <> @state OR detail <> @detail THEN now() ELSE changed_at END
WHERE reviews.id = @id AND reviews.generation = @generation;

-- name: ReleaseReview :exec
-- Whoever finds that something new came in gives it back.
UPDATE reviews SET claimed_until = NULL, due_at = now(),
    comment_id = @comment_id, deployment_id = coalesce(deployment_id, @deployment_id),
    next_id = coalesce(next_id, @next_id)
WHERE id = @id AND generation <> @generation;

-- name: InsertReviewCommand :execrows
-- What somebody wrote below a pull request; nothing while too many of it wait.
INSERT INTO review_commands (id, review_id, verb, argument, author, author_id)
SELECT @id, r.id, @verb, @argument, @author, @author_id FROM reviews r WHERE r.id = @review_id
    AND (SELECT count(*) FROM review_commands c WHERE c.review_id = r.id AND c.answer = '') < 10;

-- name: WakeReview :exec
-- It is looked at next.
UPDATE reviews SET due_at = now() WHERE id = @id;

-- name: ListWaitingCommands :many
-- What was not done yet, the oldest first.
SELECT * FROM review_commands WHERE review_id = @review_id AND answer = '' ORDER BY at, id;

-- name: ListLastCommands :many
-- What was done last: the commands of one comment, and of others of the same minute.
SELECT l.* FROM review_commands l WHERE l.review_id = @review_id AND l.answer <> '' AND l.at > (
    SELECT max(c.at) - interval '1 minute' FROM review_commands c
    WHERE c.review_id = @review_id AND c.answer <> '')
ORDER BY l.at DESC, l.id DESC LIMIT 10;

-- name: AnswerCommand :exec
-- It is done.
UPDATE review_commands SET answer = @answer WHERE id = @id;

-- name: RestartReview :exec
-- What is wanted is made again, as after an event.
UPDATE reviews SET generation = generation + 1, state = 'waiting', detail = '', due_at = now(),
    give_up_at = @give_up_at, changed_at = now()
WHERE id = @id AND generation = @generation;

-- name: ApproveReview :execrows
-- The commit of a fork may be deployed, unless another one came meanwhile.
UPDATE reviews SET approved_commit = commit, generation = generation + 1, state = 'waiting',
    detail = '', due_at = now(), give_up_at = @give_up_at, changed_at = now()
WHERE id = @id AND generation = @generation AND commit = @commit AND fork;

-- name: ListAliasTargets :many
-- What of a rule is ready, the newest first. A fork may call its branch as it likes.
SELECT r.branch, d.id, d.environment_id FROM reviews r JOIN deployments d ON d.id = r.deployment_id
WHERE r.rule_id = @rule_id AND NOT r.fork AND r.want = 'present' AND d.status = 'ready'
    AND d.want = 'present'
ORDER BY d.ready_at DESC, d.id DESC;

-- name: ListAliases :many
-- Where the aliases of a rule lead, by name.
SELECT * FROM review_aliases WHERE rule_id = @rule_id ORDER BY name;

-- name: GetAlias :one
-- Where an alias leads, whichever rule it is of.
SELECT * FROM review_aliases WHERE environment_id = @environment_id AND name = @name;

-- name: PutAlias :exec
-- An alias leads somewhere else.
INSERT INTO review_aliases (environment_id, name, rule_id, deployment_id)
VALUES (@environment_id, @name, @rule_id, @deployment_id)
ON CONFLICT (environment_id, name) DO UPDATE SET deployment_id = excluded.deployment_id;

-- name: DeleteAlias :exec
-- An alias leads nowhere.
DELETE FROM review_aliases WHERE environment_id = @environment_id AND name = @name;

-- name: DeleteAliasHosts :exec
-- The hosts of an alias are free.
DELETE FROM deployment_hosts h USING deployments d
WHERE h.alias = @name AND d.id = h.deployment_id AND d.environment_id = @environment_id;

-- name: ListLostAliases :many
-- The rules with an alias that leads to what is gone, or that have none any more.
SELECT DISTINCT a.rule_id FROM review_aliases a JOIN review_rules u ON u.id = a.rule_id
JOIN deployments d ON d.id = a.deployment_id
WHERE NOT u.aliases OR d.status IN ('canceled', 'removed', 'forgotten');
