-- Agents that nobody can dial: they dial the control plane and leave connections with it.

-- +goose Up
ALTER TABLE nodes ADD COLUMN connect text NOT NULL DEFAULT 'control-plane'
    CHECK (connect IN ('control-plane', 'agent'));
-- Such a node has no address.
ALTER TABLE nodes ADD CONSTRAINT nodes_connect_address
    CHECK ((connect = 'agent') = (address = ''));
ALTER TABLE nodes DROP CONSTRAINT nodes_address_key;
CREATE UNIQUE INDEX nodes_address_key ON nodes (address) WHERE address <> '';

-- The processes that accept connections of agents, and where the others ask them for one.
CREATE TABLE standby_hosts (
    process     text PRIMARY KEY,
    url         text NOT NULL,
    -- SHA-256 of the certificate that answers there; empty if an ordinary authority vouches.
    fingerprint text NOT NULL DEFAULT '',
    expires_at  timestamptz NOT NULL
);

-- +goose Down
DROP TABLE standby_hosts;
DROP INDEX nodes_address_key;
-- The release before has no node without an address. These cannot be reached by it.
UPDATE nodes SET connect = 'control-plane', address = name || '.invalid:5000'
    WHERE connect = 'agent';
ALTER TABLE nodes ADD CONSTRAINT nodes_address_key UNIQUE (address);
ALTER TABLE nodes DROP COLUMN connect;
