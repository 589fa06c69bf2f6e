-- What nodes and services really used, over time. A row sums up count
-- measurements: width seconds from at on, or one measurement where width is 0.
-- Sums and counts, so that late measurements are added to rows that are there.
--
-- These are the busiest writes of all, so the table refers to no other: rows of
-- what is gone grow old like all others. 10,000 idle nodes add 2,000 raw rows a
-- second, which stay for two hours.

-- +goose Up
CREATE TABLE use_samples (
    -- A node's id and no step, or a deployment's and the service's step.
    subject      uuid NOT NULL,
    step         text NOT NULL DEFAULT '',
    width        integer NOT NULL CHECK (width IN (0, 60, 3600)),
    at           timestamptz NOT NULL,
    count        integer NOT NULL CHECK (count > 0),
    cpu          double precision NOT NULL CHECK (cpu >= 0),
    cpu_max      double precision NOT NULL CHECK (cpu_max >= 0),
    memory       double precision NOT NULL CHECK (memory >= 0),
    memory_max   bigint NOT NULL CHECK (memory_max >= 0),
    disk_free    bigint NOT NULL CHECK (disk_free >= 0),
    net_in       double precision NOT NULL DEFAULT 0 CHECK (net_in >= 0),
    net_out      double precision NOT NULL DEFAULT 0 CHECK (net_out >= 0),
    disk_read    double precision NOT NULL DEFAULT 0 CHECK (disk_read >= 0),
    disk_written double precision NOT NULL DEFAULT 0 CHECK (disk_written >= 0),
    PRIMARY KEY (subject, width, at, step)
) WITH (autovacuum_vacuum_scale_factor = 0.05);
-- For retention, which asks for the oldest of a width.
CREATE INDEX use_samples_age ON use_samples (width, at);

-- How far each node's measurements are stored: a node that had no answer sends
-- them again, and they must not count twice. boot names the life of the agent
-- whose numbers these are.
CREATE TABLE use_marks (
    node_id uuid PRIMARY KEY,
    boot    text NOT NULL CHECK (length(boot) BETWEEN 1 AND 64),
    number  bigint NOT NULL CHECK (number >= 0)
);

-- +goose Down
DROP TABLE use_marks, use_samples;
