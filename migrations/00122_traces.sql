-- The trace that a run belongs to, as the W3C header says it, from the request that began the
-- run; empty while tracing is off. A run's spans are written once it has ended: traced says so.

-- +goose Up
-- +goose StatementBegin
CREATE FUNCTION current_trace() RETURNS text LANGUAGE sql STABLE AS $$
    SELECT coalesce(current_setting('nullops.trace', true), '')
$$;
-- +goose StatementEnd
ALTER TABLE runs
    ADD COLUMN traceparent text NOT NULL DEFAULT current_trace() CHECK (length(traceparent) <= 55),
    ADD COLUMN traced boolean NOT NULL DEFAULT false;
CREATE INDEX runs_untraced ON runs (ended_at) WHERE traceparent <> '' AND NOT traced;
-- What is told of a deployment belongs to the trace of its latest run.
ALTER TABLE deliveries
    ADD COLUMN traceparent text NOT NULL DEFAULT '' CHECK (length(traceparent) <= 55);

-- +goose Down
ALTER TABLE deliveries DROP COLUMN traceparent;
ALTER TABLE runs DROP COLUMN traceparent, DROP COLUMN traced;
DROP FUNCTION current_trace();
