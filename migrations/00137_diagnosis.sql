-- What operators look at running processes with: levels of their logs that differ for a while, and
-- support archives, which every process adds its part to.

-- +goose Up
CREATE TABLE log_levels (
    -- The name of the node whose agent it is of; empty for control plane and ingress.
    node      text NOT NULL DEFAULT '' CHECK (length(node) <= 100),
    component text NOT NULL CHECK (length(component) BETWEEN 1 AND 40),
    level     text NOT NULL CHECK (level IN ('debug', 'info', 'warn', 'error')),
    -- It always ends: a forgotten debug level fills a disk.
    until     timestamptz NOT NULL,
    set_by    text NOT NULL CHECK (length(set_by) <= 200),
    set_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (node, component)
);

-- An archive that is being written. Processes see it when they next tell that they are alive.
CREATE TABLE support_requests (
    id uuid PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT now()
);

-- What one process adds to it. Both are gone as soon as the archive is written, or a minute later.
CREATE TABLE support_parts (
    request_id uuid NOT NULL REFERENCES support_requests ON DELETE CASCADE,
    process    text NOT NULL CHECK (length(process) BETWEEN 1 AND 400),
    files      bytea NOT NULL CHECK (length(files) <= 33554432),
    PRIMARY KEY (request_id, process)
);

-- +goose Down
DROP TABLE support_parts, support_requests, log_levels;
