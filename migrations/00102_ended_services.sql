-- +goose Up
-- A service that is never restarted and whose process ended with exit code 0 is well, but
-- does not run: people see that it has done its work.
ALTER TABLE service_health ADD COLUMN ended boolean NOT NULL DEFAULT false;

-- +goose Down
ALTER TABLE service_health DROP COLUMN ended;
