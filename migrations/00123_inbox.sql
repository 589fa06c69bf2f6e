-- What concerns one person and waits until they have read it: somebody mentioned them, a run of
-- theirs failed, a deployment of theirs ends, somebody asks an admin for access, trouble that they
-- look after. Comments and requests for access are what people write to each other.

-- +goose Up
CREATE TABLE person_notices (
    id            uuid PRIMARY KEY,
    user_id       uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    kind          text NOT NULL CHECK (kind IN ('mention', 'comment', 'failed', 'stuck',
        'degraded', 'expiring', 'access_asked', 'access_answered', 'alert')),
    -- Set if it is about a deployment: who may not see that any more does not see this either.
    deployment_id uuid REFERENCES deployments ON DELETE CASCADE,
    -- Who caused it; empty for the product itself.
    by_name       text NOT NULL DEFAULT '' CHECK (length(by_name) <= 200),
    subject       text NOT NULL CHECK (length(subject) BETWEEN 1 AND 300),
    body          text NOT NULL DEFAULT '' CHECK (length(body) <= 2000),
    -- A path of the UI.
    link          text NOT NULL DEFAULT '' CHECK (link = '' OR link ~ '^/[^/]' AND length(link) <= 500),
    at            timestamptz NOT NULL DEFAULT now(),
    read_at       timestamptz
);
CREATE INDEX person_notices_user ON person_notices (user_id, id DESC);
CREATE INDEX person_notices_at ON person_notices (at);
CREATE INDEX person_notices_deployment ON person_notices (deployment_id)
    WHERE deployment_id IS NOT NULL;

CREATE TABLE deployment_comments (
    id            uuid PRIMARY KEY,
    deployment_id uuid NOT NULL REFERENCES deployments ON DELETE CASCADE,
    -- The author's comments stay when the person is deleted.
    user_id       uuid REFERENCES users ON DELETE SET NULL,
    author        text NOT NULL CHECK (length(author) BETWEEN 1 AND 200),
    body          text NOT NULL CHECK (length(body) BETWEEN 1 AND 4000),
    -- The names in the body that were told of it.
    mentions      text[] NOT NULL DEFAULT '{}',
    at            timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX deployment_comments_deployment ON deployment_comments (deployment_id, id);
CREATE INDEX deployment_comments_user ON deployment_comments (user_id, at);

CREATE TABLE access_requests (
    id         uuid PRIMARY KEY,
    user_id    uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    -- project/NAME, environment/NAME, or admin.
    object     text NOT NULL CHECK (length(object) BETWEEN 1 AND 200),
    note       text NOT NULL DEFAULT '' CHECK (length(note) <= 500),
    at         timestamptz NOT NULL DEFAULT now(),
    closed_at  timestamptz,
    closed_by  text NOT NULL DEFAULT '',
    CHECK ((closed_at IS NULL) = (closed_by = ''))
);
-- Asking twice is asking once.
CREATE UNIQUE INDEX access_requests_open ON access_requests (user_id, object)
    WHERE closed_at IS NULL;
CREATE INDEX access_requests_user ON access_requests (user_id, at);

-- +goose Down
DROP TABLE access_requests, deployment_comments, person_notices;
