-- name: ListKeptImages :many
-- Every image that a saved pipeline names, or a run of a deployment that is
-- there or was made lately.
SELECT DISTINCT k.image FROM (
    SELECT jsonb_path_query(v.pipeline, '$.steps[*].*.image')::jsonb AS image
    FROM pipeline_versions v
    UNION ALL
    SELECT jsonb_path_query(r.pipeline, '$.steps[*].*.image')::jsonb AS image
    FROM runs r JOIN deployments d ON d.id = r.deployment_id
    WHERE r.created_at > now() - make_interval(secs => @recent::double precision)
        OR d.status NOT IN ('canceled', 'removed', 'forgotten')
) k ORDER BY k.image;
