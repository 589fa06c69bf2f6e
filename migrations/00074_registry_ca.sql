-- The certificates of the authorities that signed a registry's certificate, as
-- PEM; empty when the system's are enough.
-- +goose Up
ALTER TABLE registries ADD COLUMN ca text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE registries DROP COLUMN ca;
