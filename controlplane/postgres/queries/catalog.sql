-- name: GetRegistry :one
-- A registry by name.
SELECT * FROM registries WHERE name = @name;

-- name: GetRegistryByHost :one
-- A registry as an image names it, for pull credentials.
SELECT * FROM registries WHERE host = @host;

-- name: ListRegistries :many
-- Registries by name, one page.
SELECT * FROM registries WHERE name > @after ORDER BY name LIMIT @most;

-- name: InsertRegistry :exec
-- A new registry.
INSERT INTO registries (id, name, host, insecure, username, password, description, ca)
VALUES (@id, @name, @host, @insecure, @username, @password, @description, @ca);

-- name: UpdateRegistry :exec
-- What an admin changes about a registry.
UPDATE registries SET host = @host, insecure = @insecure, username = @username,
    password = @password, description = @description, ca = @ca WHERE id = @id;

-- name: DeleteRegistry :exec
-- Impossible while services or plugins come from it.
DELETE FROM registries WHERE id = @id;

-- name: ListUsersOfRegistry :many
-- What stops a registry from being deleted. A deployment of an older pipeline may need an
-- image again, to restart a service or to undo a plugin, though the catalogue no longer
-- names the registry.
SELECT ('service ' || s.name)::text FROM services s WHERE s.registry_id = @id
UNION ALL SELECT ('plugin ' || p.name)::text FROM plugins p WHERE p.registry_id = @id
UNION ALL SELECT ('deployment ' || d.name)::text FROM deployments d
CROSS JOIN LATERAL (SELECT x.pipeline FROM runs x WHERE x.deployment_id = d.id
    ORDER BY x.number DESC LIMIT 1) r
WHERE d.status NOT IN ('canceled', 'removed', 'forgotten') AND jsonb_path_exists(r.pipeline,
    '$.steps[*].*.image.registry ? (@ == $host)',
    jsonb_build_object('host', (SELECT g.host FROM registries g WHERE g.id = @id)))
ORDER BY 1;

-- name: GetService :one
-- A service by name, with its registry.
SELECT sqlc.embed(s), sqlc.embed(r) FROM services s JOIN registries r ON r.id = s.registry_id
WHERE s.name = @name;

-- name: ListServices :many
-- Services by name, one page.
SELECT sqlc.embed(s), sqlc.embed(r) FROM services s JOIN registries r ON r.id = s.registry_id
WHERE s.name > @after ORDER BY s.name LIMIT @most;

-- name: PutService :execrows
-- Inserts, or replaces the one of that id; nothing when the registry is gone.
INSERT INTO services (id, name, registry_id, image, tag_mode, tag, pattern, description, step)
SELECT @id, @name, r.id, @image, @tag_mode, @tag, @pattern, @description, @step
FROM registries r WHERE r.name = @registry
ON CONFLICT (id) DO UPDATE SET registry_id = excluded.registry_id, image = excluded.image,
    tag_mode = excluded.tag_mode, tag = excluded.tag, pattern = excluded.pattern,
    description = excluded.description, step = excluded.step;

-- name: DeleteService :exec
-- Impossible while a project's current pipeline uses it.
DELETE FROM services WHERE id = @id;

-- name: ListUsersOfService :many
-- What stops a service from being deleted.
SELECT ('project ' || p.name)::text FROM project_services u JOIN projects p ON p.id = u.project_id
WHERE u.service_id = @id ORDER BY 1;

-- name: GetPlugin :one
-- A plugin by name, with its registry.
SELECT sqlc.embed(p), sqlc.embed(r) FROM plugins p JOIN registries r ON r.id = p.registry_id
WHERE p.name = @name;

-- name: ListPlugins :many
-- Plugins by name, one page.
SELECT sqlc.embed(p), sqlc.embed(r) FROM plugins p JOIN registries r ON r.id = p.registry_id
WHERE p.name > @after ORDER BY p.name LIMIT @most;

-- name: PutPlugin :execrows
-- Inserts, or replaces the one of that id; nothing when the registry is gone.
INSERT INTO plugins (id, name, registry_id, image, tag, digest, component)
SELECT @id, @name, r.id, @image, @tag, @digest, @component
FROM registries r WHERE r.name = @registry
ON CONFLICT (id) DO UPDATE SET registry_id = excluded.registry_id, image = excluded.image,
    tag = excluded.tag, digest = excluded.digest, component = excluded.component;

-- name: DeletePlugin :exec
-- Impossible while a project's current pipeline uses it.
DELETE FROM plugins WHERE id = @id;

-- name: ListUsersOfPlugin :many
-- What stops a plugin from being deleted.
SELECT ('project ' || p.name)::text FROM project_plugins u JOIN projects p ON p.id = u.project_id
WHERE u.plugin_id = @id ORDER BY 1;

-- name: GetEnvironment :one
-- An environment by name, with its nodes counted.
SELECT sqlc.embed(e),
    (SELECT count(*) FROM nodes n WHERE n.environment_id = e.id)::integer AS nodes,
    (SELECT count(*) FROM nodes n WHERE n.environment_id = e.id AND n.status = 'online')::integer
        AS nodes_online
FROM environments e WHERE e.name = @name;

-- name: ListEnvironments :many
-- Environments by name, one page: those granted, and the unrestricted ones for
-- whoever has a grant on a project.
SELECT sqlc.embed(e),
    (SELECT count(*) FROM nodes n WHERE n.environment_id = e.id)::integer AS nodes,
    (SELECT count(*) FROM nodes n WHERE n.environment_id = e.id AND n.status = 'online')::integer
        AS nodes_online
FROM environments e WHERE e.name > @after
    AND (@everything::boolean OR e.id = ANY(@granted::uuid[])
        OR (@unrestricted::boolean AND NOT e.restricted))
ORDER BY e.name LIMIT @most;

-- name: PutEnvironment :exec
-- Inserts, or replaces the one of that id.
INSERT INTO environments (id, name, domain, description, restricted, cleanup_after_hours,
    ignore_visits, ignore_presence, placement, capacity)
VALUES (@id, @name, @domain, @description, @restricted, @cleanup_after_hours, @ignore_visits,
    @ignore_presence, @placement, @capacity)
ON CONFLICT (id) DO UPDATE SET domain = excluded.domain, description = excluded.description,
    restricted = excluded.restricted, cleanup_after_hours = excluded.cleanup_after_hours,
    ignore_visits = excluded.ignore_visits, ignore_presence = excluded.ignore_presence,
    placement = excluded.placement, capacity = excluded.capacity;

-- name: DeleteEnvironment :exec
-- Impossible while nodes or deployments are in it; grants go along.
DELETE FROM environments WHERE id = @id;

-- name: ListUsersOfEnvironment :many
-- What stops an environment from being deleted.
SELECT ('node ' || n.name)::text FROM nodes n WHERE n.environment_id = @id
UNION ALL SELECT ('deployment ' || d.name)::text FROM deployments d WHERE d.environment_id = @id
    AND d.status NOT IN ('canceled', 'removed', 'forgotten')
UNION ALL SELECT ('what deployment ' || d.name || ' left on node ' || n.name)::text
    FROM relocations r JOIN deployments d ON d.id = r.deployment_id JOIN nodes n ON n.id = r.node_id
    WHERE d.environment_id = @id AND d.status IN ('canceled', 'removed', 'forgotten')
UNION ALL SELECT ('rule ' || r.name)::text FROM review_rules r
    JOIN environments e ON e.name = r.environment WHERE e.id = @id
UNION ALL SELECT ('webhook ' || w.name)::text FROM webhooks w
    JOIN environments e ON e.name = w.environment WHERE e.id = @id
UNION ALL SELECT ('project ' || p.name || ', which is limited to it')::text FROM projects p
    WHERE @id = ANY(p.environments) ORDER BY 1;

-- name: ForgetGoneOfEnvironment :exec
-- Deployments that are gone do not keep their environment; the journal does.
DELETE FROM deployments d WHERE d.environment_id = @id
    AND d.status IN ('canceled', 'removed', 'forgotten')
    AND NOT EXISTS (SELECT FROM relocations r WHERE r.deployment_id = d.id);

-- name: GetProject :one
-- A project by name, with its version and deployments counted.
SELECT sqlc.embed(p),
    ARRAY(SELECT e.id FROM environments e WHERE e.id = ANY(p.environments)
        ORDER BY e.name)::uuid[] AS environment_ids,
    ARRAY(SELECT e.name FROM environments e WHERE e.id = ANY(p.environments)
        ORDER BY e.name)::text[] AS environment_names,
    (SELECT coalesce(max(v.version), 0) FROM pipeline_versions v
        WHERE v.project_id = p.id)::integer AS version,
    (SELECT count(*) FROM deployments d WHERE d.project_id = p.id
        AND d.status NOT IN ('canceled', 'removed', 'forgotten'))::integer AS deployments
FROM projects p WHERE p.name = @name;

-- name: ListProjects :many
-- Projects by name, one page, of those granted.
SELECT sqlc.embed(p),
    ARRAY(SELECT e.id FROM environments e WHERE e.id = ANY(p.environments)
        ORDER BY e.name)::uuid[] AS environment_ids,
    ARRAY(SELECT e.name FROM environments e WHERE e.id = ANY(p.environments)
        ORDER BY e.name)::text[] AS environment_names,
    (SELECT coalesce(max(v.version), 0) FROM pipeline_versions v
        WHERE v.project_id = p.id)::integer AS version,
    (SELECT count(*) FROM deployments d WHERE d.project_id = p.id
        AND d.status NOT IN ('canceled', 'removed', 'forgotten'))::integer AS deployments
FROM projects p WHERE p.name > @after
    AND (@everything::boolean OR p.id = ANY(@granted::uuid[])
        OR cardinality(@deployable::uuid[]) > 0
            AND (p.environments = '{}' OR p.environments && @deployable::uuid[]))
ORDER BY p.name LIMIT @most;

-- name: CountVisibleDeployments :many
-- Living deployments of projects, of those that somebody with these grants may
-- see: a restricted environment needs a grant of its own.
SELECT d.project_id::uuid AS project_id, count(*)::integer AS deployments
FROM deployments d JOIN environments e ON e.id = d.environment_id
WHERE d.project_id = ANY(@projects::uuid[])
    AND d.status NOT IN ('canceled', 'removed', 'forgotten')
    AND (e.id = ANY(@granted_environments::uuid[])
        OR d.project_id = ANY(@granted_projects::uuid[]) AND NOT e.restricted)
GROUP BY d.project_id;

-- name: LockProject :one
-- Two saves of one pipeline come one after the other.
SELECT id FROM projects WHERE name = @name FOR UPDATE;

-- name: PutProject :exec
-- Inserts, or replaces the one of that id.
INSERT INTO projects (id, name, description, cpu, memory_mib, cleanup_after_hours, placement,
    environments)
VALUES (@id, @name, @description, @cpu, @memory_mib, sqlc.narg(cleanup_after_hours), @placement,
    @environments::uuid[])
ON CONFLICT (id) DO UPDATE SET description = excluded.description, cpu = excluded.cpu,
    memory_mib = excluded.memory_mib, cleanup_after_hours = excluded.cleanup_after_hours,
    placement = excluded.placement, environments = excluded.environments;

-- name: ListDeploymentsOutside :many
-- Living deployments of a project that are in none of some environments.
SELECT ('deployment ' || d.name || ' in environment ' || e.name)::text
FROM deployments d JOIN environments e ON e.id = d.environment_id
WHERE d.project_id = @project_id AND d.status NOT IN ('canceled', 'removed', 'forgotten')
    AND d.environment_id <> ALL(@environments::uuid[]) ORDER BY 1;

-- name: DeleteProject :exec
-- Impossible while it has deployments; versions, secrets and grants go along.
DELETE FROM projects WHERE id = @id;

-- name: ListUsersOfProject :many
-- What stops a project from being deleted.
SELECT ('deployment ' || d.name)::text FROM deployments d WHERE d.project_id = @id
    AND d.status NOT IN ('canceled', 'removed', 'forgotten')
UNION ALL SELECT ('what deployment ' || d.name || ' left on node ' || n.name)::text
    FROM relocations r JOIN deployments d ON d.id = r.deployment_id JOIN nodes n ON n.id = r.node_id
    WHERE d.project_id = @id AND d.status IN ('canceled', 'removed', 'forgotten')
UNION ALL SELECT ('rule ' || r.name)::text FROM review_rules r
    JOIN projects p ON p.name = r.project WHERE p.id = @id
UNION ALL SELECT ('webhook ' || w.name)::text FROM webhooks w
    JOIN projects p ON p.name = w.project WHERE p.id = @id ORDER BY 1;

-- name: ListUsersOfTeam :many
-- Questions of current pipelines that name the team: nobody else may answer them.
SELECT ('step ' || (s.step ->> 'key') || ' of project ' || p.name)::text
FROM teams t, projects p
CROSS JOIN LATERAL (SELECT v.pipeline FROM pipeline_versions v WHERE v.project_id = p.id
    ORDER BY v.version DESC LIMIT 1) latest
CROSS JOIN LATERAL jsonb_array_elements(latest.pipeline -> 'steps') AS s (step)
WHERE t.id = @id AND jsonb_exists(s.step -> 'approval' -> 'teams', t.name) ORDER BY 1;

-- name: ListUsersOfPerson :many
-- Questions of current pipelines that name the person.
SELECT ('step ' || (s.step ->> 'key') || ' of project ' || p.name)::text
FROM users u, projects p
CROSS JOIN LATERAL (SELECT v.pipeline FROM pipeline_versions v WHERE v.project_id = p.id
    ORDER BY v.version DESC LIMIT 1) latest
CROSS JOIN LATERAL jsonb_array_elements(latest.pipeline -> 'steps') AS s (step)
WHERE u.id = @id AND jsonb_exists(s.step -> 'approval' -> 'users', u.name) ORDER BY 1;

-- name: ForgetGoneOfProject :exec
-- Deployments that are gone do not keep their project; the journal does.
DELETE FROM deployments d WHERE d.project_id = @id
    AND d.status IN ('canceled', 'removed', 'forgotten')
    AND NOT EXISTS (SELECT FROM relocations r WHERE r.deployment_id = d.id);

-- name: InsertVersion :exec
-- A saved pipeline, for ever.
INSERT INTO pipeline_versions (project_id, version, pipeline, digest, note, created_by)
VALUES (@project_id, @version, @pipeline, @digest, @note, @created_by);

-- name: GetVersion :one
-- One version, as it was saved.
SELECT * FROM pipeline_versions WHERE project_id = @project_id AND version = @version;

-- name: GetLatestVersion :one
-- The version that new runs use.
SELECT * FROM pipeline_versions WHERE project_id = @project_id ORDER BY version DESC LIMIT 1;

-- name: ListLatestStates :many
-- Which row the latest version of each of some projects is: while the word is the
-- same, so is the version.
SELECT DISTINCT ON (v.project_id) v.project_id, concat_ws(' ', v.version, v.xmin)::text AS state
FROM pipeline_versions v WHERE v.project_id = ANY(@projects::uuid[])
ORDER BY v.project_id, v.version DESC;

-- name: ListVersions :many
-- Versions, newest first, one page.
SELECT * FROM pipeline_versions WHERE project_id = @project_id AND version < @before
ORDER BY version DESC LIMIT @most;

-- name: ListVersionUsers :many
-- Which deployments that still exist run which versions, by name.
SELECT d.id, d.name, d.status, d.environment_id, d.environment, d.restricted, d.pipeline_version
FROM deployment_rows d
WHERE d.project_id = @project_id AND d.pipeline_version BETWEEN @oldest::integer AND @newest::integer
    AND d.status NOT IN ('canceled', 'removed', 'forgotten')
ORDER BY d.name, d.id;

-- name: ClearProjectServices :exec
-- What the pipeline before used.
DELETE FROM project_services WHERE project_id = @project_id;

-- name: ClearProjectPlugins :exec
-- What the pipeline before used.
DELETE FROM project_plugins WHERE project_id = @project_id;

-- name: AddProjectServices :exec
-- What the current pipeline uses.
INSERT INTO project_services (project_id, service_id)
SELECT @project_id, s.id FROM services s WHERE s.name = ANY(@names::text[]);

-- name: AddProjectPlugins :exec
-- What the current pipeline uses.
INSERT INTO project_plugins (project_id, plugin_id)
SELECT @project_id, p.id FROM plugins p WHERE p.name = ANY(@names::text[]);
