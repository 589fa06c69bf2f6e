package catalog

import (
	"fmt"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
)

// requireSystem refuses all actors but the control plane's own tasks: opened secrets are not for
// people, not even admins.
func requireSystem(actor access.Actor) error {
	if actor.IsSystem() {
		return nil
	}
	return &controlplane.Error{
		Kind: controlplane.Forbidden, Code: "forbidden",
		Message: "only the control plane itself may open secrets",
		Remedy:  "Set a new value instead; stored ones cannot be read back.",
	}
}

// OpenNodeKey opens the key that proves a node's token, for the fleet to
// reach the node. A token moved to another row does not open.
func (c *Catalog) OpenNodeKey(t controlplane.NodeToken) ([]byte, error) {
	key, err := c.keys.Open(verifierPlace(t), t.Verifier)
	if err != nil {
		return nil, fmt.Errorf("open token %s: %w", t.Kid, err)
	}
	return key, nil
}
