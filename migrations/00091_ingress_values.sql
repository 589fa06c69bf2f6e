-- What the ingress may open: the control plane puts it here, sealed with the ingress's own
-- key. An ingress of its own key reads this table and not those that its content is from.

-- +goose Up
CREATE TABLE ingress_values (
    -- identity: its client certificate and key towards agents.
    -- certificates: what it serves over HTTPS, with the private keys.
    name       text PRIMARY KEY CHECK (name IN ('identity', 'certificates')),
    sealed     bytea NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT now()
);

-- +goose Down
DROP TABLE ingress_values;
