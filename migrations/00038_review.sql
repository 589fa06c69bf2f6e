-- +goose Up
-- From code review to URL: a rule says which pull requests, or which pushed
-- tags, become deployments of which project.
CREATE TABLE review_rules (
    id           uuid PRIMARY KEY,
    name         text NOT NULL UNIQUE CHECK (name ~ '^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$'),
    source       text NOT NULL CHECK (source IN ('github', 'gitlab', 'gitea', 'generic',
        'registry')),
    repository   text NOT NULL DEFAULT '' CHECK (length(repository) <= 300),
    project      text NOT NULL,
    environment  text NOT NULL,
    branch       text NOT NULL DEFAULT '' CHECK (length(branch) <= 128),
    tag          text NOT NULL CHECK (length(tag) BETWEEN 1 AND 200),
    wait_minutes integer NOT NULL DEFAULT 30 CHECK (wait_minutes BETWEEN 1 AND 1440),
    api_url      text NOT NULL DEFAULT '' CHECK (length(api_url) <= 300),
    active       boolean NOT NULL DEFAULT true,
    created_by   text NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now()
);

-- One row for each pull request, or pushed branch of tags. want is written by
-- what came in, state by who works on it.
CREATE TABLE reviews (
    id            uuid PRIMARY KEY,
    rule_id       uuid NOT NULL REFERENCES review_rules ON DELETE CASCADE,
    key           text NOT NULL CHECK (length(key) BETWEEN 1 AND 300),
    number        integer NOT NULL DEFAULT 0,
    title         text NOT NULL DEFAULT '',
    branch        text NOT NULL,
    commit        text NOT NULL DEFAULT '',
    link          text NOT NULL DEFAULT '',
    tag           text NOT NULL,
    want          text NOT NULL DEFAULT 'present' CHECK (want IN ('present', 'gone')),
    generation    bigint NOT NULL DEFAULT 1,
    done          bigint NOT NULL DEFAULT 0,
    told          bigint NOT NULL DEFAULT 0,
    comment_id    text NOT NULL DEFAULT '',
    deployment    text NOT NULL,
    deployment_id uuid,
    state         text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'creating',
        'ready', 'failed', 'removed')),
    detail        text NOT NULL DEFAULT '',
    give_up_at    timestamptz NOT NULL,
    due_at        timestamptz NOT NULL DEFAULT now(),
    claimed_until timestamptz,
    changed_at    timestamptz NOT NULL DEFAULT now(),
    UNIQUE (rule_id, key)
);
CREATE INDEX reviews_due ON reviews (due_at);

-- What came in, so that the same cannot come in twice.
CREATE TABLE review_events (
    rule_id uuid NOT NULL REFERENCES review_rules ON DELETE CASCADE,
    id      text NOT NULL CHECK (length(id) BETWEEN 1 AND 200),
    at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (rule_id, id)
);
CREATE INDEX review_events_at ON review_events (at);

-- +goose Down
DROP TABLE review_events, reviews, review_rules;
