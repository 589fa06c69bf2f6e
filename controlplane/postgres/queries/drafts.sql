-- name: GetDraft :one
SELECT * FROM drafts WHERE project_id = @project_id AND user_id = @user_id;

-- name: InsertDraft :one
-- No row means that there is one already.
INSERT INTO drafts (project_id, user_id, base_version, content)
VALUES (@project_id, @user_id, @base_version, @content)
ON CONFLICT (project_id, user_id) DO NOTHING
RETURNING *;

-- name: UpdateDraft :one
-- No row means that it was saved or deleted since that revision was read.
UPDATE drafts
SET base_version = @base_version, content = @content, saved_at = now(),
    revision = nextval('draft_revisions')
WHERE project_id = @project_id AND user_id = @user_id AND revision = @revision
RETURNING *;

-- name: DeleteDraft :execrows
-- Revision 0 stands for any.
DELETE FROM drafts
WHERE project_id = @project_id AND user_id = @user_id
    AND (@revision::bigint = 0 OR revision = @revision::bigint);
