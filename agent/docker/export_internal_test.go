package docker

import "github.com/moby/moby/api/types/container"

// HelperHosts are the settings of the helpers that live for moments, and that only an agent in a
// container or a machine without a folder in memory starts.
func HelperHosts(dir string) map[string]*container.HostConfig {
	return map[string]*container.HostConfig{
		"lender": lenderHost(dir, dir), "replacement": replacementHost(dir)}
}
