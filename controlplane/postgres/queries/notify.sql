-- name: PutOutwardSecret :exec
-- A sealed address or key of a webhook or a rule.
INSERT INTO outward_secrets (id, value) VALUES (@id, @value)
ON CONFLICT (id) DO UPDATE SET value = excluded.value;

-- name: GetOutwardSecret :one
-- What was sealed under this id.
SELECT value FROM outward_secrets WHERE id = @id;

-- name: DeleteOutwardSecrets :exec
-- Everything sealed for one object, whose id all of its secrets begin with.
DELETE FROM outward_secrets WHERE starts_with(id, @prefix::text);

-- name: ListWebhooks :many
-- Webhooks by name, one page.
SELECT * FROM webhooks WHERE name > @after ORDER BY name LIMIT @most;

-- name: ListActiveWebhooks :many
-- Those that notices are handed to.
SELECT * FROM webhooks WHERE active ORDER BY name;

-- name: GetWebhook :one
-- A webhook by name.
SELECT * FROM webhooks WHERE name = @name;

-- name: GetWebhookByID :one
-- The webhook of a delivery.
SELECT * FROM webhooks WHERE id = @id;

-- name: PutWebhook :exec
-- Inserts, or replaces what an admin says about it.
INSERT INTO webhooks (id, name, kind, host, project, environment, events, template, active,
    created_by)
VALUES (@id, @name, @kind, @host, @project, @environment, @events, @template, @active, @created_by)
ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, host = excluded.host,
    project = excluded.project, environment = excluded.environment, events = excluded.events,
    template = excluded.template, active = excluded.active;

-- name: DeleteWebhook :exec
-- With its delivery log.
DELETE FROM webhooks WHERE id = @id;

-- name: ListNotificationChoices :many
-- What one person wants to hear of.
SELECT * FROM notification_choices WHERE user_id = @user_id ORDER BY position;

-- name: ListAllNotificationChoices :many
-- What everybody who may still sign in wants to hear of.
SELECT c.* FROM notification_choices c JOIN users u ON u.id = c.user_id
WHERE u.active ORDER BY c.user_id, c.position;

-- name: DeleteNotificationChoices :exec
-- Before the new ones are stored.
DELETE FROM notification_choices WHERE user_id = @user_id;

-- name: InsertNotificationChoice :exec
-- One of a person's choices.
INSERT INTO notification_choices (user_id, position, email, project, environment, events, mine)
VALUES (@user_id, @position, @email, @project, @environment, @events, @mine);

-- name: TakeNotices :many
-- The oldest notices, for whoever turns them into deliveries in this transaction.
DELETE FROM notices WHERE id IN (
    SELECT n.id FROM notices n ORDER BY n.id LIMIT @most FOR UPDATE SKIP LOCKED
) RETURNING *;

-- name: InsertNotice :exec
-- What no trigger sees: it is about neither a deployment nor a node.
INSERT INTO notices (event, data, request_id) VALUES (@event, @data, @request_id);

-- name: InsertDelivery :exec
-- Something to send.
INSERT INTO deliveries (id, webhook_id, user_id, email, event, subject, body, claimed_until,
    traceparent)
VALUES (@id, @webhook_id, @user_id, @email, @event, @subject, @body, @claimed_until,
    @traceparent);

-- name: ClaimDeliveries :many
-- What is due, taken for as long as sending may last: whoever dies meanwhile
-- leaves it to the next, also if the clock was set back since: some claims
-- are made by the control plane's clock, which may be minutes ahead. Counted before it is sent, so
-- that nothing is sent for ever.
UPDATE deliveries SET claimed_until = now() + make_interval(secs => @hold::float8),
    attempts = attempts + 1
WHERE id IN (
    SELECT d.id FROM deliveries d WHERE d.status = 'waiting' AND d.due_at <= now()
        AND (d.claimed_until IS NULL OR d.claimed_until < now()
            OR d.claimed_until > now() + make_interval(secs => 10 * @hold::float8))
    ORDER BY d.due_at LIMIT @most FOR UPDATE SKIP LOCKED
) RETURNING *;

-- name: EndDelivery :exec
-- How an attempt went.
UPDATE deliveries SET status = @status, answer = @answer, error = @error, due_at = @due_at,
    attempts = greatest(attempts, 1), claimed_until = NULL,
    ended_at = CASE WHEN @status = 'waiting' THEN NULL ELSE now() END
WHERE id = @id;

-- name: GetDelivery :one
-- One delivery of a webhook.
SELECT * FROM deliveries WHERE id = @id AND webhook_id = @webhook_id;

-- name: ListDeliveries :many
-- A webhook's deliveries, newest first, one page.
SELECT * FROM deliveries WHERE webhook_id = @webhook_id
    AND (sqlc.narg(before)::uuid IS NULL OR id < sqlc.narg(before)::uuid)
ORDER BY id DESC LIMIT @most;

-- name: ForgetDeliveries :execrows
-- Those that ended long ago, a bounded number.
DELETE FROM deliveries WHERE id IN (
    SELECT d.id FROM deliveries d WHERE d.ended_at < @before ORDER BY d.ended_at LIMIT @most);
