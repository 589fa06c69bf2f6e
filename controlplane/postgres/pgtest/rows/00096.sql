INSERT INTO provisioning_tokens (prefix, hash, environment_id, settings, name_pattern, max_uses,
    uses, created_by, created_at, expires_at)
SELECT 'abcd2345', sha256('token'), id, '{"labels": {"zone": "fra"}}', '{hostname}', 3, 1, 'ada',
    now(), now() + interval '1 day' FROM environments LIMIT 1;
INSERT INTO node_enrolments (node_id, token, public_key)
SELECT id, 'abcd2345', sha256('key') FROM nodes LIMIT 1;
