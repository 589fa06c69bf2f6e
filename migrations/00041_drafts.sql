-- What somebody draws before they publish it: one draft per person and project,
-- saved apart from the versions. It may be wrong in every way a pipeline can be.

-- +goose Up
-- A revision is never given twice, not even after a draft was deleted and begun
-- anew: who holds an old one can never overwrite what they have not seen.
CREATE SEQUENCE draft_revisions AS bigint;

CREATE TABLE drafts (
    project_id   uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    user_id      uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    -- The version it was drawn on; 0 for a project without one.
    base_version integer NOT NULL CHECK (base_version >= 0),
    revision     bigint NOT NULL DEFAULT nextval('draft_revisions'),
    content      jsonb NOT NULL,
    saved_at     timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (project_id, user_id)
);
CREATE INDEX drafts_user ON drafts (user_id);

-- +goose Down
DROP TABLE drafts;
DROP SEQUENCE draft_revisions;
