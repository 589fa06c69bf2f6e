INSERT INTO secrets (id, project_id, name, version, vault_path, vault_field, updated_at)
VALUES ('00000000-0000-4000-8000-000000000080', '00000000-0000-4000-8000-000000000009', 'VAULTED', 1, 'apps/shop', 'token', now());
