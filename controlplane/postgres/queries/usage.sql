-- name: LockUseMarks :many
-- How far nodes are, held in one order until their measurements are in.
SELECT * FROM use_marks WHERE node_id = ANY(@nodes::uuid[]) ORDER BY node_id FOR UPDATE;

-- name: PutUseMarks :exec
-- How far nodes are now.
INSERT INTO use_marks (node_id, boot, number)
SELECT unnest(@nodes::uuid[]), unnest(@boots::text[]), unnest(@numbers::bigint[])
ON CONFLICT (node_id) DO UPDATE SET boot = excluded.boot, number = excluded.number;

-- name: AddUse :exec
-- Adds to what is there, or begins it, many rows at once. A node speaks for
-- itself and for the deployments that are placed on it, and for nobody else.
INSERT INTO use_samples AS u (subject, step, width, at, count, cpu, cpu_max, memory, memory_max,
    disk_free, net_in, net_out, disk_read, disk_written)
SELECT r.subject, r.step, r.width, r.at, r.count, r.cpu, r.cpu_max, r.memory, r.memory_max,
    r.disk_free, r.net_in, r.net_out, r.disk_read, r.disk_written
FROM (SELECT unnest(@subjects::uuid[]) AS subject, unnest(@nodes::uuid[]) AS node,
        unnest(@steps::text[]) AS step, unnest(@widths::integer[]) AS width,
        unnest(@moments::timestamptz[]) AS at, unnest(@counts::integer[]) AS count,
        unnest(@cpus::double precision[]) AS cpu, unnest(@cpu_maxs::double precision[]) AS cpu_max,
        unnest(@memories::double precision[]) AS memory, unnest(@memory_maxs::bigint[]) AS memory_max,
        unnest(@disks_free::bigint[]) AS disk_free,
        unnest(@nets_in::double precision[]) AS net_in,
        unnest(@nets_out::double precision[]) AS net_out,
        unnest(@disks_read::double precision[]) AS disk_read,
        unnest(@disks_written::double precision[]) AS disk_written) r
    LEFT JOIN deployments d ON d.id = r.subject AND d.node_id = r.node
WHERE r.subject = r.node OR d.id IS NOT NULL
ORDER BY r.subject, r.width, r.at, r.step
ON CONFLICT (subject, width, at, step) DO UPDATE SET count = u.count + excluded.count,
    cpu = u.cpu + excluded.cpu, cpu_max = greatest(u.cpu_max, excluded.cpu_max),
    memory = u.memory + excluded.memory, memory_max = greatest(u.memory_max, excluded.memory_max),
    disk_free = least(u.disk_free, excluded.disk_free), net_in = u.net_in + excluded.net_in,
    net_out = u.net_out + excluded.net_out, disk_read = u.disk_read + excluded.disk_read,
    disk_written = u.disk_written + excluded.disk_written;

-- name: ListUse :many
-- One stretch of time of a node, or of all services of a deployment.
SELECT * FROM use_samples WHERE subject = @subject AND width = @width
    AND at >= @since AND at < @until
ORDER BY step, at LIMIT @most;

-- name: DropUse :execrows
-- The oldest rows of a width, some at a time: a lock for minutes would stop
-- everybody who measures.
DELETE FROM use_samples WHERE ctid = ANY(ARRAY(SELECT o.ctid FROM use_samples o
    WHERE o.width = @width AND o.at < @before ORDER BY o.at LIMIT @most));

-- name: DropUseMarks :exec
-- Nobody counts on for a node that is gone.
DELETE FROM use_marks m WHERE NOT EXISTS (SELECT FROM nodes n WHERE n.id = m.node_id);

-- name: SetVitalsOf :many
-- What many agents measured last. A node that somebody holds, such as a
-- placement, is left for the next time: nobody waits for a measurement.
UPDATE nodes n SET vitals = v.vitals::jsonb
FROM (SELECT unnest(@ids::uuid[]) AS id, unnest(@all_vitals::text[]) AS vitals) v,
    (SELECT f.id FROM nodes f WHERE f.id = ANY(@ids::uuid[]) ORDER BY f.id
        FOR NO KEY UPDATE SKIP LOCKED) free
WHERE n.id = v.id AND n.id = free.id
RETURNING n.id;
