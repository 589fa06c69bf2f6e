-- +goose Up
-- Every sealed value names the master key it is under: byte 1 is the length of
-- the name that follows (see controlplane/seal). Rotation asks for it.
-- +goose StatementBegin
CREATE FUNCTION sealed_kid(sealed bytea) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT convert_from(substr(sealed, 3, get_byte(sealed, 1)), 'UTF8')
$$;
-- +goose StatementEnd

-- +goose Down
DROP FUNCTION sealed_kid(bytea);
