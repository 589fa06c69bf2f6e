-- Repositories whose documents define what admins define. What a source owns is in
-- definition_owners under the source's name. The text of the documents is kept at two commits: the
-- one that was read last, which a person confirms, and the one that was applied last, which what is
-- stored is compared with.

-- +goose Up
CREATE TABLE definition_sources (
    id             uuid PRIMARY KEY,
    name           text NOT NULL UNIQUE CHECK (name <> ''),
    url            text NOT NULL CHECK (url <> ''),
    branch         text NOT NULL CHECK (branch <> ''),
    folder         text NOT NULL DEFAULT '',
    username       text NOT NULL DEFAULT '',
    ca             text NOT NULL DEFAULT '',
    period_minutes integer NOT NULL CHECK (period_minutes BETWEEN 1 AND 10080),
    mode           text NOT NULL CHECK (mode IN ('confirm', 'automatic')),
    removes        boolean NOT NULL DEFAULT false,
    kinds          jsonb NOT NULL DEFAULT '[]',
    webhook        text NOT NULL DEFAULT '' CHECK (webhook IN ('', 'github', 'gitlab', 'gitea', 'generic')),
    active         boolean NOT NULL DEFAULT true,
    -- In whose name it applies: the admin who saved it last.
    owner          text NOT NULL DEFAULT '',
    owner_id       uuid REFERENCES users ON DELETE SET NULL,
    created_at     timestamptz NOT NULL DEFAULT now(),
    -- Grows with the settings: what was found with other settings is looked at again.
    generation     bigint NOT NULL DEFAULT 1,

    -- What the loop writes.
    due_at         timestamptz NOT NULL DEFAULT now(),
    claimed_until  timestamptz,
    status         text NOT NULL DEFAULT 'new' CHECK (status IN ('new', 'synced', 'waiting', 'failed')),
    state          jsonb NOT NULL DEFAULT '{}'
);
CREATE INDEX definition_sources_due ON definition_sources (due_at);
CREATE INDEX definition_sources_owner ON definition_sources (owner_id);

CREATE TABLE definition_source_files (
    source_id uuid NOT NULL REFERENCES definition_sources ON DELETE CASCADE,
    commit    text NOT NULL,
    files     jsonb NOT NULL,
    PRIMARY KEY (source_id, commit)
);

-- +goose Down
DROP TABLE definition_source_files, definition_sources;
