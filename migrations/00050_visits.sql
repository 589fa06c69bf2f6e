-- Visits through the ingress count as activity; an environment can switch that
-- off, for instance where robots look at every deployment all the time.

-- +goose Up
ALTER TABLE environments ADD COLUMN ignore_visits boolean NOT NULL DEFAULT false;

-- +goose Down
ALTER TABLE environments DROP COLUMN ignore_visits;
