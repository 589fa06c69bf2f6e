package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent"
)

// objects lists what there is of our installation.
type objects struct {
	*containers
	networks  *networks
	files     *serviceFiles
	sandboxes *sandboxes
	holders   *holders
}

// List returns every object of this installation, in every state. A kill at
// the wrong moment leaves containers that were created and never started, so
// running ones are not enough.
func (ob *objects) List(ctx context.Context) ([]agent.Object, error) {
	all, err := ob.listObjects(ctx, "")
	return slices.DeleteFunc(all, ob.removeDeadHolder), err
}

// removeDeadHolder removes the holder of a process before this one. Its plugins have ended too.
func (ob *objects) removeDeadHolder(o agent.Object) bool {
	dead := o.Kind == agent.KindHolder && !o.Running && !ob.holders.isUsed(o.Deployment)
	if dead {
		ob.removeInBackground(o.Name, o.ID)
	}
	return dead
}

func (ob *objects) listObjects(ctx context.Context, deployment string) ([]agent.Object, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	ob.sweeps.waitFor(ctx)
	containers, err := ob.listContainers(ctx, deployment)
	if err != nil {
		return nil, fmt.Errorf("list containers: %w", wrapUnavailable(err))
	}
	networks, err := ob.networks.listNetworks(ctx, ob.names.ownFilter(deployment))
	if err != nil {
		return nil, err
	}
	all := containers
	for _, n := range networks {
		o := objectFromLabels(n.Labels)
		o.ID, o.Name = n.ID, n.Name
		ob.noteObject(o)
		all = append(all, o)
	}
	volumes, err := ob.api.VolumeList(ctx,
		client.VolumeListOptions{Filters: ob.names.ownFilter(deployment)})
	if err != nil {
		return nil, fmt.Errorf("list volumes: %w", wrapUnavailable(err))
	}
	for _, v := range volumes.Items {
		o := objectFromLabels(v.Labels)
		o.ID, o.Name = v.Name, v.Name
		all = append(all, o)
	}
	// Without a folder in memory there is nothing in it.
	if err := ob.files.ensureRunFolder(ctx); errors.Is(err, agent.ErrUnavailable) {
		return nil, err
	}
	folders, err := ob.listFolders(deployment)
	return append(all, folders...), err
}

func (ob *objects) listContainers(
	ctx context.Context, deployment string,
) ([]agent.Object, error) {
	r, err := ob.api.ContainerList(ctx, client.ContainerListOptions{
		All: true, Filters: ob.names.ownFilter(deployment),
	})
	if err != nil {
		return nil, err
	}
	var all []agent.Object
	for _, c := range r.Items {
		o := objectFromLabels(c.Labels)
		o.ID = c.ID
		ob.noteObject(o)
		if len(c.Names) > 0 {
			o.Name = strings.TrimPrefix(c.Names[0], "/")
		}
		o.Waiting = ob.sandboxes.has(o.ID)
		o.Running = c.State == container.StateRunning && ob.isOnNetwork(c, o)
		all = append(all, o)
	}
	return all, nil
}

// listFolders finds deployments' folders in tmpfs.
func (ob *objects) listFolders(deployment string) ([]agent.Object, error) {
	entries, err := os.ReadDir(ob.runDir())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list folders in tmpfs: %w", err)
	}
	var all []agent.Object
	for _, e := range entries {
		name := e.Name()
		if deployment != "" && name != deployment || checkNames(name) != nil {
			continue
		}
		path := ob.hostPaths().toHost(ob.files.deploymentDir(name))
		all = append(all, agent.Object{
			Kind: agent.KindTmpfs, ID: path, Name: path, Deployment: name,
		})
	}
	return all, nil
}

// isOnNetwork reports whether a service or relay is on its deployment's network. A container that
// was disconnected still runs, but cannot be reached.
func (ob *objects) isOnNetwork(c container.Summary, o agent.Object) bool {
	if o.Kind != agent.KindService && o.Kind != agent.KindRelay || c.NetworkSettings == nil {
		return true
	}
	_, on := c.NetworkSettings.Networks[ob.names.networkName(o.Deployment)]
	return on
}
