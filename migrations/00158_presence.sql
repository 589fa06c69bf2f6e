-- Who is at a deployment's addresses now: one row for each of them, with the time of their last
-- request. Rows are deleted after minutes; nothing says what was visited.

-- +goose Up
CREATE TABLE deployment_visitors (
    deployment_id uuid NOT NULL REFERENCES deployments ON DELETE CASCADE,
    -- A person's id, the id of a guest's or robot's pass, or an ingress that counts where the gate
    -- asks for none.
    visitor       text NOT NULL CHECK (length(visitor) BETWEEN 1 AND 100),
    kind          text NOT NULL CHECK (kind IN ('person', 'guest', 'robot', 'count')),
    user_id       uuid REFERENCES users ON DELETE CASCADE,
    label         text NOT NULL DEFAULT '',
    visitors      integer NOT NULL DEFAULT 1,
    seen_at       timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (deployment_id, visitor)
);
CREATE INDEX deployment_visitors_seen ON deployment_visitors (seen_at);
CREATE INDEX deployment_visitors_user ON deployment_visitors (user_id);
ALTER TABLE environments ADD COLUMN ignore_presence boolean NOT NULL DEFAULT false;
-- Since when a removal waits for those who are there; NULL if none waits.
ALTER TABLE reviews ADD COLUMN waits_since timestamptz;

-- +goose Down
ALTER TABLE reviews DROP COLUMN waits_since;
ALTER TABLE environments DROP COLUMN ignore_presence;
DROP TABLE deployment_visitors;
