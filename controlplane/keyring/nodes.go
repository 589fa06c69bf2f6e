package keyring

import (
	"fmt"

	"github.com/nullops/nullops/controlplane"
)

// SealNodeKey seals the key that proves a node's token, bound to the token and to its node.
func (k *Keyring) SealNodeKey(
	t controlplane.NodeToken, key []byte,
) (controlplane.Sealed, error) {
	sealed, err := k.seal(nodeKeyLocation(t), key)
	if err != nil {
		return nil, fmt.Errorf("seal token: %w", err)
	}
	return sealed, nil
}

// OpenNodeKey opens the key that proves a node's token, for the fleet to
// reach the node. A token moved to another row does not open.
func (k *Keyring) OpenNodeKey(t controlplane.NodeToken) ([]byte, error) {
	key, err := k.open(nodeKeyLocation(t), t.Verifier)
	if err != nil {
		return nil, fmt.Errorf("open token %s: %w", t.Kid, err)
	}
	return key, nil
}

// SealSSH seals the credential of a node's machine.
func (k *Keyring) SealSSH(id controlplane.NodeID, credential []byte) (controlplane.Sealed, error) {
	sealed, err := k.seal(sshLocation(id), credential)
	if err != nil {
		return nil, fmt.Errorf("seal credential: %w", err)
	}
	return sealed, nil
}

// OpenSSH opens the credential of a node's machine.
func (k *Keyring) OpenSSH(id controlplane.NodeID, sealed controlplane.Sealed) ([]byte, error) {
	credential, err := k.open(sshLocation(id), sealed)
	if err != nil {
		return nil, fmt.Errorf("open credential of node %s: %w", id, err)
	}
	return credential, nil
}
