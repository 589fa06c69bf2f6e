-- name: PutOffer :execrows
-- A node is asked. For a run that it declined before, the row is used again under a new id,
-- so that a late answer to the earlier offer counts for nothing.
INSERT INTO offers (id, node_id, run_id, deployment, cpu, memory_mib, gpus, vram_mib, expires_at)
VALUES (@id, @node_id, sqlc.narg(run_id), @deployment, @cpu, @memory_mib, @gpus, @vram_mib,
    now() + make_interval(secs => @seconds::double precision))
ON CONFLICT (run_id, node_id) DO UPDATE SET id = excluded.id, status = 'open',
    deployment = excluded.deployment, cpu = excluded.cpu, memory_mib = excluded.memory_mib,
    gpus = excluded.gpus, vram_mib = excluded.vram_mib, reason = '', ask_after = NULL,
    changed_at = now(), expires_at = excluded.expires_at
    WHERE offers.status NOT IN ('open', 'claimed');

-- name: ListOpenOffers :many
-- What the agents have to be asked whose nodes the holder commands.
SELECT o.id, o.node_id, o.deployment,
    extract(epoch FROM o.expires_at - now())::double precision AS seconds
FROM offers o JOIN node_leases l ON l.node_id = o.node_id
WHERE o.status = 'open' AND o.expires_at > now() AND l.holder = @holder ORDER BY o.id;

-- name: GetOffer :one
-- One offer, and whether its time is over.
SELECT o.status, o.reason, (o.expires_at <= now())::boolean AS expired
FROM offers o WHERE o.id = @id;

-- name: ClaimOffer :one
-- The node takes it, if that was said in time. The claim is kept for a while, so that the
-- deployment can be placed.
UPDATE offers o SET status = 'claimed', changed_at = now(),
    expires_at = now() + make_interval(secs => @seconds::double precision)
WHERE o.id = @id AND o.node_id = @node_id AND o.status = 'open' AND o.expires_at > now()
RETURNING coalesce((SELECT r.deployment_id FROM runs r WHERE r.id = o.run_id)::text, '')::text
    AS deployment_id;

-- name: DeclineOffer :one
-- The node does not take it, did not answer, or cannot have what it claimed. It is left in
-- peace for longer and longer: half a minute, then twice as long, up to half an hour.
UPDATE offers o SET status = 'declined', reason = @reason, changed_at = now(),
    declines = o.declines + 1,
    ask_after = now() + least(power(2, least(o.declines, 10)) * interval '30 seconds', interval '30 minutes')
WHERE o.id = @id AND o.node_id = @node_id AND o.status IN ('open', 'claimed')
RETURNING coalesce((SELECT r.deployment_id FROM runs r WHERE r.id = o.run_id)::text, '')::text
    AS deployment_id;

-- name: TakeOffer :execrows
-- The deployment goes to the node that claimed it; from here on its own row is the reservation.
UPDATE offers SET status = 'taken', changed_at = now()
WHERE id = @id AND status = 'claimed' AND expires_at > now();

-- name: WithdrawOffer :exec
-- Nobody waits for the answer any more.
UPDATE offers SET status = 'withdrawn', changed_at = now()
WHERE id = @id AND status IN ('open', 'claimed');

-- name: WithdrawOffersOfRun :exec
-- The run needs no node any more.
UPDATE offers SET status = 'withdrawn', changed_at = now()
WHERE run_id = @run_id AND status IN ('open', 'claimed');

-- name: AttachOffers :exec
-- A request was asked for before its run was there.
UPDATE offers SET run_id = @run_id::uuid WHERE id = ANY(@ids::uuid[]);

-- name: ListReservedOffers :many
-- What is promised on the nodes of an environment to those who have to be asked first.
SELECT o.node_id, o.cpu, o.memory_mib, o.gpus, o.vram_mib
FROM offers o JOIN nodes n ON n.id = o.node_id
WHERE o.status IN ('open', 'claimed') AND o.expires_at > now()
    AND n.environment_id = @environment_id;

-- name: ListQueuedOffers :many
-- The offers of an environment's queued runs.
SELECT o.id, o.run_id::uuid AS run_id, o.node_id, n.name AS node, o.status, o.reason, o.gpus,
    (o.expires_at <= now())::boolean AS expired, coalesce(o.ask_after <= now(), true)::boolean AS due
FROM queue q
JOIN deployments d ON d.id = q.deployment_id
JOIN offers o ON o.run_id = q.run_id
JOIN nodes n ON n.id = o.node_id
WHERE q.left_at IS NULL AND d.environment_id = @environment_id ORDER BY o.id;

-- name: ListOffersOf :many
-- What the nodes said that were asked for some runs.
SELECT o.id, o.run_id::uuid AS run_id, o.node_id, n.name AS node, o.status, o.reason, o.changed_at
FROM offers o JOIN nodes n ON n.id = o.node_id
WHERE o.run_id = ANY(@runs::uuid[]) AND o.status <> 'withdrawn' ORDER BY o.changed_at, o.id;

-- name: DeleteOldOffers :execrows
-- What a request left behind whose control plane died.
DELETE FROM offers WHERE run_id IS NULL AND expires_at < now() - interval '10 minutes';

-- name: HasReactiveNodes :one
-- Whether placement may have to ask a node at all.
SELECT EXISTS (SELECT FROM nodes WHERE environment_id = @environment_id
    AND settings @> '{"reactive": true}') AS reactive;
