-- What failed before it got a node is removed at once: no agent can say so later.

-- +goose Up
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION deployments_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.status = NEW.status OR (OLD.status || '>' || NEW.status) IN (
        'queued>applying', 'queued>undoing', 'queued>failed', 'queued>canceled',
        'applying>ready', 'applying>undoing', 'applying>failed',
        'undoing>failed', 'undoing>canceled', 'undoing>stuck', 'undoing>forgotten',
        'failed>queued', 'failed>removing', 'failed>removed',
        'ready>removing',
        'removing>removed', 'removing>stuck', 'removing>forgotten',
        'stuck>removing', 'stuck>forgotten'
    ) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'deployment % cannot move from % to %', OLD.id, OLD.status, NEW.status
        USING ERRCODE = 'check_violation';
END $$;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION deployments_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.status = NEW.status OR (OLD.status || '>' || NEW.status) IN (
        'queued>applying', 'queued>undoing', 'queued>failed', 'queued>canceled',
        'applying>ready', 'applying>undoing', 'applying>failed',
        'undoing>failed', 'undoing>canceled', 'undoing>stuck', 'undoing>forgotten',
        'failed>queued', 'failed>removing',
        'ready>removing',
        'removing>removed', 'removing>stuck', 'removing>forgotten',
        'stuck>removing', 'stuck>forgotten'
    ) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'deployment % cannot move from % to %', OLD.id, OLD.status, NEW.status
        USING ERRCODE = 'check_violation';
END $$;
-- +goose StatementEnd
