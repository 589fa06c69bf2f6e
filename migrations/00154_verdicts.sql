-- What QA says about a deployment: passed, failed or with remarks. A verdict is about the set of
-- images that the deployment ran at that moment, and is void as soon as one of them is another one.

-- +goose Up
-- The members of such a team may say it of what the team may see; nobody else may but admins.
ALTER TABLE teams ADD COLUMN verdicts boolean NOT NULL DEFAULT false;

-- The key that signs the statements, and what is needed to verify them.
CREATE TABLE verdict_key (
    one        boolean PRIMARY KEY DEFAULT true CHECK (one),
    key        bytea NOT NULL,
    public_key text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE verdicts (
    id            uuid PRIMARY KEY,
    deployment_id uuid NOT NULL REFERENCES deployments ON DELETE CASCADE,
    run           integer NOT NULL,
    outcome       text NOT NULL CHECK (outcome IN ('passed', 'failed', 'remarks')),
    remarks       text NOT NULL DEFAULT '' CHECK (length(remarks) <= 2000),
    -- The set of images that it is about: a hash of their digests.
    digest_set    text NOT NULL,
    user_id       uuid REFERENCES users ON DELETE SET NULL,
    author        text NOT NULL CHECK (length(author) BETWEEN 1 AND 200),
    at            timestamptz NOT NULL DEFAULT now(),
    -- The signed statement, as it is attached to each image.
    bundle        bytea NOT NULL,
    -- The pull request whose commit gets the status; none if there is no such commit.
    review_id     uuid REFERENCES reviews ON DELETE SET NULL,
    commit        text NOT NULL DEFAULT '',
    voided_at     timestamptz,
    voided_reason text NOT NULL DEFAULT '',
    CHECK ((voided_at IS NULL) = (voided_reason = ''))
);
CREATE INDEX verdicts_deployment ON verdicts (deployment_id, id DESC);
CREATE INDEX verdicts_review ON verdicts (review_id) WHERE review_id IS NOT NULL;
CREATE INDEX verdicts_user ON verdicts (user_id) WHERE user_id IS NOT NULL;

-- Each image that a statement is attached to in its registry.
CREATE TABLE verdict_images (
    verdict_id  uuid NOT NULL REFERENCES verdicts ON DELETE CASCADE,
    image       text NOT NULL,
    digest      text NOT NULL,
    attached_at timestamptz,
    -- Why it is not attached yet; empty while nothing was tried.
    problem     text NOT NULL DEFAULT '' CHECK (length(problem) <= 1000),
    attempts    integer NOT NULL DEFAULT 0,
    due_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (verdict_id, image, digest)
);
CREATE INDEX verdict_images_due ON verdict_images (due_at) WHERE attached_at IS NULL;

-- How often the commit's status had to be another one, and which of these was sent.
ALTER TABLE reviews ADD COLUMN verdict_wanted bigint NOT NULL DEFAULT 0,
    ADD COLUMN verdict_told bigint NOT NULL DEFAULT 0;

-- +goose StatementBegin
-- Whichever query changes what a deployment runs, a verdict about other images is void.
CREATE FUNCTION verdict_images_of(versions jsonb) RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(array_agg(DISTINCT (v->>'image') || '@' || (v->>'digest')), '{}')
    -- A deployment without services has none, which is stored as null.
    FROM jsonb_array_elements(CASE jsonb_typeof(versions) WHEN 'array' THEN versions ELSE '[]' END) v
$$;
CREATE FUNCTION void_verdicts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE verdicts SET voided_at = now(), voided_reason = 'the deployment runs other images now'
    WHERE deployment_id = NEW.id AND voided_at IS NULL;
    RETURN NULL;
END $$;
CREATE FUNCTION notice_of_verdict() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO notices (event, deployment_id, data) VALUES ('deployment.verdict',
            NEW.deployment_id, jsonb_build_object('outcome', NEW.outcome, 'by', NEW.author,
            'remarks', NEW.remarks, 'digest_set', NEW.digest_set));
    ELSE
        INSERT INTO notices (event, deployment_id, data) VALUES ('deployment.verdict_voided',
            NEW.deployment_id, jsonb_build_object('outcome', NEW.outcome, 'by', NEW.author,
            'reason', NEW.voided_reason, 'digest_set', NEW.digest_set));
    END IF;
    UPDATE reviews SET verdict_wanted = verdict_wanted + 1, due_at = least(due_at, now())
    WHERE id = NEW.review_id;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER deployments_void_verdicts AFTER UPDATE OF versions ON deployments
    FOR EACH ROW WHEN (verdict_images_of(OLD.versions) <> verdict_images_of(NEW.versions))
    EXECUTE FUNCTION void_verdicts();
CREATE TRIGGER verdicts_given AFTER INSERT ON verdicts
    FOR EACH ROW EXECUTE FUNCTION notice_of_verdict();
CREATE TRIGGER verdicts_voided AFTER UPDATE OF voided_at ON verdicts
    FOR EACH ROW WHEN (OLD.voided_at IS NULL AND NEW.voided_at IS NOT NULL
        AND NEW.voided_reason <> 'a newer verdict was given')
    EXECUTE FUNCTION notice_of_verdict();

-- +goose Down
DROP TRIGGER deployments_void_verdicts ON deployments;
DROP TABLE verdict_images, verdicts, verdict_key;
DROP FUNCTION void_verdicts, notice_of_verdict, verdict_images_of;
ALTER TABLE reviews DROP COLUMN verdict_told, DROP COLUMN verdict_wanted;
ALTER TABLE teams DROP COLUMN verdicts;
