package docker

import (
	"context"
	"os"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"
)

// detectHost detects how much of the machine is visible from here, and whether the agent
// itself runs in a container.
func (h *hostPaths) detectHost(ctx context.Context, api *client.Client) error {
	i, err := api.Info(ctx, client.InfoOptions{})
	if err != nil {
		return wrapUnavailable(err)
	}
	h.engineID = i.Info.ID
	id, err := ownContainer("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	if id != "" {
		r, err := api.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
		if err != nil && !errdefs.IsNotFound(err) {
			return wrapUnavailable(err)
		}
		host := err == nil && r.Container.HostConfig != nil
		h.ownNetwork = !host || !r.Container.HostConfig.NetworkMode.IsHost()
		h.ownProcesses = !host || !r.Container.HostConfig.PidMode.IsHost()
		return nil
	}
	// An engine elsewhere has its root elsewhere too.
	_, err = os.Stat(i.Info.DockerRootDir)
	if h.ownProcesses = err != nil; err == nil {
		h.engineRoot = i.Info.DockerRootDir
		h.imageRoot = findImageRoot(i.Info, containerdConfig)
	}
	return nil
}
