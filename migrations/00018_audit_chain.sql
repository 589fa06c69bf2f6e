-- +goose Up
-- Entries become links of a chain: each carries a keyed digest of itself and of
-- the entry before it, so that a changed, missing, moved or cut-off entry is
-- found and located by whoever has the key. The key is sealed with the master
-- key; who has only the database cannot make a link. Entries from before the
-- chain have no link.
ALTER TABLE audit
    ADD COLUMN seq bigint UNIQUE,
    ADD COLUMN mac bytea CHECK (length(mac) = 32),
    ADD CHECK ((seq IS NULL) = (mac IS NULL));
CREATE INDEX audit_project ON audit (project_id, id);
CREATE INDEX audit_environment ON audit (environment_id, id);

-- The end of the chain. Its one row is what concurrent writers queue for.
CREATE TABLE audit_head (
    one        boolean PRIMARY KEY DEFAULT true CHECK (one),
    seq        bigint NOT NULL,
    mac        bytea NOT NULL CHECK (length(mac) = 32),
    sealed_key bytea
);
INSERT INTO audit_head (seq, mac) VALUES (0, decode(repeat('00', 32), 'hex'));

-- Where retention cut the chain off: the last entry that is gone, its link, and
-- a keyed digest over both that only a holder of the key can make.
CREATE TABLE audit_checkpoints (
    seq  bigint PRIMARY KEY,
    link bytea NOT NULL CHECK (length(link) = 32),
    at   timestamptz NOT NULL,
    mac  bytea NOT NULL CHECK (length(mac) = 32)
);

-- +goose StatementBegin
CREATE FUNCTION audit_only_cut() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND coalesce(OLD.seq, 0) <=
        (SELECT max(seq) FROM audit_checkpoints) THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'audit rows never change' USING ERRCODE = 'restrict_violation';
END $$;
-- +goose StatementEnd
DROP TRIGGER audit_append_only ON audit;
CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE ON audit
    FOR EACH ROW EXECUTE FUNCTION audit_only_cut();
CREATE TRIGGER audit_checkpoints_append_only BEFORE UPDATE OR DELETE ON audit_checkpoints
    FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER audit_checkpoints_not_truncated BEFORE TRUNCATE ON audit_checkpoints
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- +goose Down
DROP TRIGGER audit_append_only ON audit;
CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE ON audit
    FOR EACH ROW EXECUTE FUNCTION refuse_change();
DROP TABLE audit_checkpoints, audit_head;
DROP FUNCTION audit_only_cut();
DROP INDEX audit_project, audit_environment;
ALTER TABLE audit DROP COLUMN seq, DROP COLUMN mac;
