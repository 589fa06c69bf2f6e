-- A job of the control plane that fails again and again is trouble of the control plane itself:
-- subscribers learn of it once, and once more when it works again. A job that failed is due again
-- in a minute, until it has failed as often as is told; from then on as often as ever.

-- +goose Up
ALTER TABLE jobs
    ADD COLUMN failures integer NOT NULL DEFAULT 0 CHECK (failures >= 0),
    ADD COLUMN failed_because text NOT NULL DEFAULT '' CHECK (length(failed_because) <= 1000);

-- +goose StatementBegin
CREATE FUNCTION notice_of_job() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.failures = 3 AND OLD.failures < 3 THEN
        INSERT INTO notices (event, data) VALUES ('controlplane.failing',
            jsonb_build_object('job', NEW.name, 'reason', NEW.failed_because));
    ELSIF NEW.failures = 0 AND OLD.failures >= 3 THEN
        INSERT INTO notices (event, data) VALUES ('controlplane.recovered',
            jsonb_build_object('job', NEW.name));
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER jobs_notice AFTER UPDATE OF failures ON jobs
    FOR EACH ROW EXECUTE FUNCTION notice_of_job();

-- +goose Down
DROP TRIGGER jobs_notice ON jobs;
DROP FUNCTION notice_of_job();
ALTER TABLE jobs DROP COLUMN failures, DROP COLUMN failed_because;
