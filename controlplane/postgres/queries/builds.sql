-- name: GetBuildFacts :one
-- What a deployment runs, who made it and what for. The ingress asks, so each column is in its
-- rights (roles.go).
SELECT d.name, d.status, d.created_by, d.created_at, d.versions, p.name AS project,
    e.name AS environment, coalesce(r.number, 0)::integer AS run,
    coalesce(r.pipeline_version, 0)::integer AS pipeline_version,
    coalesce(x.expires_at, 'epoch'::timestamptz)::timestamptz AS expires_at,
    coalesce(w.number, 0)::integer AS review_number,
    coalesce(w.title, '')::text AS review_title, coalesce(w.link, '')::text AS review_link,
    coalesce(w.branch, '')::text AS review_branch, coalesce(w.commit, '')::text AS review_commit,
    coalesce(q.outcome, '')::text AS verdict, coalesce(q.author, '')::text AS verdict_by,
    coalesce(q.at, 'epoch'::timestamptz)::timestamptz AS verdict_at
FROM deployments d
JOIN projects p ON p.id = d.project_id
JOIN environments e ON e.id = d.environment_id
LEFT JOIN deployment_expiries x ON x.id = d.id
LEFT JOIN LATERAL (SELECT n.number, n.pipeline_version FROM runs n
    WHERE n.deployment_id = d.id ORDER BY n.number DESC LIMIT 1) r ON true
LEFT JOIN deployment_lives l ON l.deployment_id = d.id
-- The commit is that of the newest build; a pull request does not keep those of the ones before.
LEFT JOIN LATERAL (SELECT v.number, v.title, v.link, v.branch,
        CASE WHEN d.id = coalesce(v.next_id, v.deployment_id) THEN v.commit ELSE '' END AS commit
    FROM reviews v WHERE v.deployment_id = d.id OR v.next_id = d.id
        OR v.deployment_id = l.successor_id
    ORDER BY v.changed_at DESC LIMIT 1) w ON true
LEFT JOIN LATERAL (SELECT t.outcome, t.author, t.at FROM verdicts t
    WHERE t.deployment_id = d.id AND t.voided_at IS NULL ORDER BY t.id DESC LIMIT 1) q ON true
WHERE d.id = @id;

-- name: ListDeploymentVersions :many
-- What each deployment that is there runs, for the header of its responses.
SELECT id, versions FROM deployments WHERE want = 'present';
