-- A create that was sent with a key is answered again, for a day, as it was
-- answered first. Until now a key only led to an object.

-- +goose Up
-- Without an object: a request under way or, with a status, one that was
-- answered. The answer is empty where it showed something that is shown once.
-- The claim says whose it is: a request that slept for over a minute finds its
-- key with another, and may neither free nor answer that one.
ALTER TABLE idempotency_keys
    ALTER COLUMN object_id DROP NOT NULL,
    ADD COLUMN claim uuid,
    ADD COLUMN status integer CHECK (status BETWEEN 200 AND 299),
    ADD COLUMN answer bytea,
    ADD CHECK (object_id IS NULL OR status IS NULL),
    ADD CHECK ((object_id IS NULL) = (claim IS NOT NULL));

-- +goose Down
DELETE FROM idempotency_keys WHERE object_id IS NULL;
ALTER TABLE idempotency_keys DROP COLUMN claim, DROP COLUMN status, DROP COLUMN answer,
    ALTER COLUMN object_id SET NOT NULL;
