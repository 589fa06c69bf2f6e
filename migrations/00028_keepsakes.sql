-- What a deployment's services looked like and last said, kept for who looks at
-- it after they are gone.

-- +goose Up
CREATE TABLE keepsakes (
    deployment_id uuid PRIMARY KEY REFERENCES deployments ON DELETE CASCADE,
    taken_at      timestamptz NOT NULL DEFAULT now(),
    services      jsonb NOT NULL DEFAULT '{}'
);

-- +goose Down
DROP TABLE keepsakes;
