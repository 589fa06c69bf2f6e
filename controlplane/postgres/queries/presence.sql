-- name: PutPassPresence :exec
-- Whose pass opened the deployment just now. An environment may want none of it stored.
INSERT INTO deployment_visitors (deployment_id, visitor, kind, user_id, label)
SELECT d.id, coalesce(p.user_id, p.id)::text,
    replace(p.kind, 'visit', 'person'), p.user_id, p.label
FROM deployments d JOIN environments e ON e.id = d.environment_id
JOIN gate_passes p ON p.kind <> 'code' AND p.id = @pass_id
WHERE d.id = @deployment_id AND NOT e.ignore_presence
ON CONFLICT (deployment_id, visitor) DO UPDATE SET seen_at = now();

-- name: PutVisitorCount :exec
-- How many an ingress counted lately, where nobody is asked who they are.
INSERT INTO deployment_visitors (deployment_id, visitor, kind, visitors)
SELECT d.id, @ingress::text, 'count', @visitors::integer
FROM deployments d JOIN environments e ON e.id = d.environment_id
WHERE d.id = @deployment_id AND NOT e.ignore_presence
ON CONFLICT (deployment_id, visitor) DO UPDATE SET visitors = excluded.visitors, seen_at = now();

-- name: ListVisitors :many
-- Who made a request lately, the last first. The counts of several ingresses are one.
SELECT v.deployment_id, v.kind, coalesce(v.user_id::text, '')::text AS user_id,
    coalesce(u.name, v.label)::text AS name, sum(v.visitors)::integer AS visitors,
    max(v.seen_at)::timestamptz AS seen_at
FROM deployment_visitors v JOIN deployments d ON d.id = v.deployment_id
JOIN environments e ON e.id = d.environment_id
LEFT JOIN users u ON u.id = v.user_id
WHERE v.deployment_id = ANY(@ids::uuid[]) AND v.seen_at > now() - make_interval(secs => @seconds)
    AND NOT e.ignore_presence
GROUP BY v.deployment_id, v.kind, v.user_id, u.name, v.label,
    CASE v.kind WHEN 'count' THEN '' ELSE v.visitor END
ORDER BY 6 DESC, 4;

-- name: DeleteOldVisitors :execrows
-- What nobody is shown any more.
DELETE FROM deployment_visitors WHERE seen_at < now() - make_interval(secs => @seconds);
