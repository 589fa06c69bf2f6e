package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent"
)

// List returns every object of this installation, in every state. A kill at
// the wrong moment leaves containers that were created and never started, so
// running ones are not enough.
func (d *Docker) List(ctx context.Context) ([]agent.Object, error) {
	return d.listObjects(ctx, "")
}

func (d *Docker) listObjects(ctx context.Context, deployment string) ([]agent.Object, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	d.sweeps.waitFor(ctx)
	containers, err := d.listContainers(ctx, deployment)
	if err != nil {
		return nil, fmt.Errorf("list containers: %w", wrapUnavailable(err))
	}
	networks, err := d.listNetworks(ctx, d.names.ownFilter(deployment))
	if err != nil {
		return nil, err
	}
	all := containers
	for _, n := range networks {
		o := objectFromLabels(n.Labels)
		o.ID, o.Name = n.ID, n.Name
		d.noteObject(o)
		all = append(all, o)
	}
	volumes, err := d.api.VolumeList(ctx,
		client.VolumeListOptions{Filters: d.names.ownFilter(deployment)})
	if err != nil {
		return nil, fmt.Errorf("list volumes: %w", wrapUnavailable(err))
	}
	for _, v := range volumes.Items {
		o := objectFromLabels(v.Labels)
		o.ID, o.Name = v.Name, v.Name
		all = append(all, o)
	}
	// Without a folder in memory there is nothing in it.
	if err := d.ensureRunFolder(ctx); errors.Is(err, agent.ErrUnavailable) {
		return nil, err
	}
	folders, err := d.listFolders(deployment)
	return append(all, folders...), err
}

func (d *Docker) listContainers(
	ctx context.Context, deployment string,
) ([]agent.Object, error) {
	r, err := d.api.ContainerList(ctx, client.ContainerListOptions{
		All: true, Filters: d.names.ownFilter(deployment),
	})
	if err != nil {
		return nil, err
	}
	var all []agent.Object
	for _, c := range r.Items {
		o := objectFromLabels(c.Labels)
		o.ID = c.ID
		d.noteObject(o)
		if len(c.Names) > 0 {
			o.Name = strings.TrimPrefix(c.Names[0], "/")
		}
		o.Running = c.State == container.StateRunning && d.isOnNetwork(c, o)
		all = append(all, o)
	}
	return all, nil
}

// listFolders finds deployments' folders in tmpfs.
func (d *Docker) listFolders(deployment string) ([]agent.Object, error) {
	entries, err := os.ReadDir(d.runDir())
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
		path := d.hostPaths().toHost(d.deploymentDir(name))
		all = append(all, agent.Object{
			Kind: agent.KindTmpfs, ID: path, Name: path, Deployment: name,
		})
	}
	return all, nil
}

// isOnNetwork reports whether a service or relay is on its deployment's network. A container that
// was disconnected still runs, but cannot be reached.
func (d *Docker) isOnNetwork(c container.Summary, o agent.Object) bool {
	if o.Kind != agent.KindService && o.Kind != agent.KindRelay || c.NetworkSettings == nil {
		return true
	}
	_, on := c.NetworkSettings.Networks[d.names.networkName(o.Deployment)]
	return on
}
