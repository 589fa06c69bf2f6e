package nodes

import "github.com/nullops/nullops/controlplane"

// Reseal is a token with a body that was changed, and the checksum that belongs to it.
func Reseal(body string) controlplane.Plain {
	return controlplane.NewPlain(body + "_" + provisioningChecksum(body))
}
