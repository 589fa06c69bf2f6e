package catalog

import (
	"fmt"

	"github.com/nullops/nullops/controlplane"
)

// SealRunKey seals the key that a node still has of a run whose row was lost. Without one it
// creates another; values sealed with the old one cannot be opened again.
func (c *Catalog) SealRunKey(
	run controlplane.RunID, key []byte,
) (controlplane.Sealed, error) {
	if len(key) == 0 {
		return c.NewRunKey(run)
	}
	sealed, err := c.keys.Seal(runKeyPlace(run), key)
	if err != nil {
		return nil, fmt.Errorf("seal run key: %w", err)
	}
	return sealed, nil
}

// SealGenerated seals a value that was generated for a deployment whose row was
// lost, so that it is the same at the next opening.
func (c *Catalog) SealGenerated(deployment controlplane.DeploymentID, name string,
	value controlplane.Plain) (controlplane.Sealed, error) {
	sealed, err := c.keys.Seal(generatedPlace(deployment, name), []byte(value.Reveal()))
	if err != nil {
		return nil, fmt.Errorf("seal generated secret %s: %w", name, err)
	}
	return sealed, nil
}
