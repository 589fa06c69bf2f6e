-- name: ListSealedUse :many
-- How many values of each place are under each master key. Key checks do not
-- count: they exist to recognise a key, not to be read.
SELECT kid::text AS kid, place::text AS place, count(*) AS n FROM (
    SELECT sealed_kid(value) AS kid, 'secrets' AS place FROM secrets WHERE value IS NOT NULL
    UNION ALL SELECT sealed_kid(password), 'registries' FROM registries
        WHERE password IS NOT NULL
    UNION ALL SELECT sealed_kid(verifier), 'node_tokens' FROM node_tokens
    UNION ALL SELECT sealed_kid(key), 'identity' FROM identity
    UNION ALL SELECT sealed_kid(key_sealed), 'runs' FROM runs
    UNION ALL SELECT sealed_kid(sealed), 'deployment_secrets' FROM deployment_secrets
    UNION ALL SELECT sealed_kid(sealed), 'run_secrets' FROM run_secrets
    UNION ALL SELECT sealed_kid(sealed_key), 'audit_head' FROM audit_head
        WHERE sealed_key IS NOT NULL
    UNION ALL SELECT sealed_kid(credential), 'node_ssh' FROM node_ssh
        WHERE credential IS NOT NULL
    UNION ALL SELECT sealed_kid(key), 'certificates' FROM certificates
    UNION ALL SELECT sealed_kid(key), 'certificate_authority' FROM certificate_authority
    UNION ALL SELECT sealed_kid(value), 'outward_secrets' FROM outward_secrets
    UNION ALL SELECT sealed_kid(dns_secret), 'acme_settings' FROM acme_settings
        WHERE dns_secret IS NOT NULL
    UNION ALL SELECT sealed_kid(eab_key), 'acme_settings' FROM acme_settings
        WHERE eab_key IS NOT NULL
    UNION ALL SELECT sealed_kid(key), 'acme_accounts' FROM acme_accounts
    UNION ALL SELECT sealed_kid(key), 'acme_certificates' FROM acme_certificates
        WHERE key IS NOT NULL
    UNION ALL SELECT sealed_kid(seed), 'second_factors' FROM second_factors
        WHERE seed IS NOT NULL
    UNION ALL SELECT sealed_kid(key), 'verdict_key' FROM verdict_key
) AS every GROUP BY kid, place ORDER BY kid, place;

-- name: ListSealedElsewhere :many
-- Some values that are not under the key, with all that says where they belong.
SELECT place::text AS place, id::text AS id, part::text AS part, version::int AS version,
    sealed::bytea AS sealed FROM (
    SELECT 'secrets' AS place, id::text AS id, '' AS part, version, value AS sealed
        FROM secrets WHERE value IS NOT NULL AND sealed_kid(value) <> @kid::text
    UNION ALL SELECT 'registries', id::text, '', 0, password
        FROM registries WHERE password IS NOT NULL AND sealed_kid(password) <> @kid::text
    UNION ALL SELECT 'node_tokens', kid, node_id::text, 0, verifier
        FROM node_tokens WHERE sealed_kid(verifier) <> @kid::text
    UNION ALL SELECT 'identity', 'one', '', 0, key
        FROM identity WHERE sealed_kid(key) <> @kid::text
    UNION ALL SELECT 'runs', id::text, '', 0, key_sealed
        FROM runs WHERE sealed_kid(key_sealed) <> @kid::text
    UNION ALL SELECT 'deployment_secrets', deployment_id::text, name, 0, sealed
        FROM deployment_secrets WHERE sealed_kid(sealed) <> @kid::text
    UNION ALL SELECT 'run_secrets', run_id::text, name, 0, sealed
        FROM run_secrets WHERE sealed_kid(sealed) <> @kid::text
    UNION ALL SELECT 'audit_head', 'one', '', 0, sealed_key
        FROM audit_head WHERE sealed_key IS NOT NULL AND sealed_kid(sealed_key) <> @kid::text
    UNION ALL SELECT 'node_ssh', node_id::text, '', 0, credential
        FROM node_ssh WHERE credential IS NOT NULL AND sealed_kid(credential) <> @kid::text
    UNION ALL SELECT 'certificates', id::text, '', 0, key
        FROM certificates WHERE sealed_kid(key) <> @kid::text
    UNION ALL SELECT 'certificate_authority', id::text, '', 0, key
        FROM certificate_authority WHERE sealed_kid(key) <> @kid::text
    UNION ALL SELECT 'outward_secrets', id, '', 0, value
        FROM outward_secrets WHERE sealed_kid(value) <> @kid::text
    UNION ALL SELECT 'acme_settings', environment_id::text, '', 0, dns_secret
        FROM acme_settings WHERE dns_secret IS NOT NULL AND sealed_kid(dns_secret) <> @kid::text
    UNION ALL SELECT 'acme_settings', environment_id::text, 'eab_key', 0, eab_key
        FROM acme_settings WHERE eab_key IS NOT NULL AND sealed_kid(eab_key) <> @kid::text
    UNION ALL SELECT 'acme_accounts', id::text, '', 0, key
        FROM acme_accounts WHERE sealed_kid(key) <> @kid::text
    UNION ALL SELECT 'acme_certificates', id::text, '', 0, key
        FROM acme_certificates WHERE key IS NOT NULL AND sealed_kid(key) <> @kid::text
    UNION ALL SELECT 'second_factors', id::text, '', 0, seed
        FROM second_factors WHERE seed IS NOT NULL AND sealed_kid(seed) <> @kid::text
    UNION ALL SELECT 'verdict_key', 'one', '', 0, key
        FROM verdict_key WHERE sealed_kid(key) <> @kid::text
) AS every LIMIT @most;

-- Each of these replaces a sealed value unless somebody replaced it meanwhile.

-- name: ResealSecret :execrows
-- See above.
UPDATE secrets SET value = @new WHERE id = @id AND value = @old;

-- name: ResealRegistry :execrows
-- See above.
UPDATE registries SET password = @new WHERE id = @id AND password = @old;

-- name: ResealNodeToken :execrows
-- See above.
UPDATE node_tokens SET verifier = @new WHERE kid = @kid AND verifier = @old;

-- name: ResealIdentity :execrows
-- See above.
UPDATE identity SET key = @new WHERE key = @old;

-- name: ResealRun :execrows
-- See above.
UPDATE runs SET key_sealed = @new WHERE id = @id AND key_sealed = @old;

-- name: ResealDeploymentSecret :execrows
-- See above.
UPDATE deployment_secrets SET sealed = @new
WHERE deployment_id = @deployment_id AND name = @name AND sealed = @old;

-- name: ResealRunSecret :execrows
-- See above.
UPDATE run_secrets SET sealed = @new
WHERE run_id = @run_id AND name = @name AND sealed = @old;

-- name: ResealAuditKey :execrows
-- See above.
UPDATE audit_head SET sealed_key = @new WHERE sealed_key = @old;

-- name: ResealNodeSSH :execrows
-- See above.
UPDATE node_ssh SET credential = @new WHERE node_id = @id AND credential = @old;

-- name: ResealCertificate :execrows
-- See above.
UPDATE certificates SET key = @new WHERE id = @id AND key = @old;

-- name: ResealAuthority :execrows
-- See above.
UPDATE certificate_authority SET key = @new WHERE key = @old;

-- name: ResealOutwardSecret :execrows
-- See above.
UPDATE outward_secrets SET value = @new WHERE id = @id AND value = @old;

-- name: ResealACMESettings :execrows
-- See above.
UPDATE acme_settings SET dns_secret = @new WHERE environment_id = @id AND dns_secret = @old;

-- name: ResealACMEBinding :execrows
-- See above.
UPDATE acme_settings SET eab_key = @new WHERE environment_id = @id AND eab_key = @old;

-- name: ResealACMEAccount :execrows
-- See above.
UPDATE acme_accounts SET key = @new WHERE id = @id AND key = @old;

-- name: ResealACMECertificate :execrows
-- See above.
UPDATE acme_certificates SET key = @new WHERE id = @id AND key = @old;

-- name: ResealFactor :execrows
-- See above.
UPDATE second_factors SET seed = @new WHERE id = @id AND seed = @old;

-- name: ResealVerdictKey :execrows
-- See above.
UPDATE verdict_key SET key = @new WHERE key = @old;
