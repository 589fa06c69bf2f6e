package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/internal/wait"
)

const (
	// removeTime bounds the removal of a whole deployment, once its services were
	// stopped.
	removeTime = 60 * time.Second
	// removePause lets the engine finish what it says is in progress.
	removePause = 250 * time.Millisecond
	// removeAtOnce is how many containers are removed side by side.
	removeAtOnce = 4
)

// pendingRemovals are containers of ended plugins that are being removed in the background.
type pendingRemovals struct {
	mu      sync.Mutex
	pending map[string]chan struct{}
}

// removeInBackground removes an ended plugin's container in the background. If that fails,
// the container is still in List.
func (d *Docker) removeInBackground(name, id string) {
	done := make(chan struct{})
	d.sweeps.mu.Lock()
	d.sweeps.pending[name] = done
	d.sweeps.mu.Unlock()
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), mutationTimeout)
		defer cancel()
		if err := d.removeContainer(ctx, id); err != nil {
			d.log.Warn("remove ended plugin", "container", name, "error", err)
		}
		d.sweeps.mu.Lock()
		if d.sweeps.pending[name] == done {
			delete(d.sweeps.pending, name)
		}
		d.sweeps.mu.Unlock()
		close(done)
	}()
}

// waitFor waits for the removals of these names, or of all names if none is
// given, but not longer than the context.
func (s *pendingRemovals) waitFor(ctx context.Context, names ...string) {
	s.mu.Lock()
	var all []chan struct{}
	for name, done := range s.pending {
		if len(names) == 0 || slices.Contains(names, name) {
			all = append(all, done)
		}
	}
	s.mu.Unlock()
	for _, done := range all {
		select {
		case <-done:
		case <-ctx.Done():
			return
		}
	}
}

// Remove deletes one object and what hangs on it. A service is stopped first.
func (d *Docker) Remove(ctx context.Context, o agent.Object) error {
	d.stopServices(ctx, o)
	return d.removeObject(ctx, o)
}

func (d *Docker) removeObject(ctx context.Context, o agent.Object) error {
	if err := d.removeByKind(ctx, o); err != nil {
		return fmt.Errorf("remove %s %s: %w", o.Kind, o.Name, err)
	}
	return nil
}

func (d *Docker) removeByKind(ctx context.Context, o agent.Object) error {
	switch o.Kind {
	case agent.KindService:
		if err := d.removeContainer(ctx, o.ID); err != nil {
			return err
		}
		if checkNames(o.Deployment, string(o.Step)) != nil {
			return nil
		}
		return os.RemoveAll(d.stepDir(o.Deployment, o.Step))
	case agent.KindRelay:
		if err := d.removeContainer(ctx, o.ID); err != nil {
			return err
		}
		if checkNames(o.Deployment) != nil {
			return nil
		}
		return d.removeRelayDirs(o.Deployment)
	case agent.KindPlugin, agent.KindCopy:
		return d.removeContainer(ctx, o.ID)
	case agent.KindNetwork:
		return d.removeNetwork(ctx, o.ID)
	case agent.KindVolume:
		return d.removeVolume(ctx, o.ID)
	case agent.KindTmpfs:
		if err := checkNames(o.Deployment); err != nil {
			return err
		}
		return os.RemoveAll(d.deploymentDir(o.Deployment))
	}
	return fmt.Errorf("unknown kind %q", o.Kind)
}

// RemoveDeployment stops the services of a deployment, all at once, and deletes its objects in
// dependency order. It repeats this until nothing is left or a minute has passed, and returns what
// is left with the last error.
func (d *Docker) RemoveDeployment(
	ctx context.Context, deployment string,
) ([]agent.Object, error) {
	if err := checkNames(deployment); err != nil {
		return nil, err
	}
	d.ahead.forgetDeployment(deployment)
	// Objects that cannot be listed now are listed again below, and killed.
	if all, err := d.listObjects(ctx, deployment); err == nil {
		d.stopServices(ctx, all...)
	}
	ctx, cancel := context.WithTimeout(ctx, removeTime)
	defer cancel()
	var left []agent.Object
	var failure error
	for {
		all, err := d.listObjects(ctx, deployment)
		if err == nil {
			left = all
			if len(left) == 0 {
				return nil, d.removeFolders(deployment)
			}
			failure = d.removeAll(ctx, left)
		} else {
			failure = err
		}
		if failure != nil && wait.Sleep(ctx, removePause) != nil {
			return left, fmt.Errorf("remove deployment %s: %w", deployment, failure)
		}
	}
}

func (d *Docker) removeFolders(deployment string) error {
	return errors.Join(
		os.RemoveAll(d.deploymentDir(deployment)), d.removeRelayDirs(deployment))
}

// removeAll tries every object once: containers first, since they hold the
// volumes and the network.
func (d *Docker) removeAll(ctx context.Context, all []agent.Object) error {
	var containers, others []agent.Object
	for _, o := range all {
		switch o.Kind {
		case agent.KindService, agent.KindPlugin, agent.KindRelay, agent.KindCopy:
			containers = append(containers, o)
		default:
			// An unknown kind too, for which removeObject fails: left out, it would be listed again
			// and again without a pause.
			others = append(others, o)
		}
	}
	err := d.removeContainers(ctx, containers)
	for _, o := range others {
		err = errors.Join(err, d.removeObject(ctx, o))
	}
	return err
}

func (d *Docker) removeContainers(ctx context.Context, all []agent.Object) error {
	var wg sync.WaitGroup
	results := make([]error, len(all))
	slots := make(chan struct{}, removeAtOnce)
	for i, o := range all {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			results[i] = d.removeObject(ctx, o)
		})
	}
	wg.Wait()
	return errors.Join(results...)
}

// removeContainer kills and removes a container with its anonymous volumes. It returns once
// the container is gone, also if another removal was already in progress.
func (d *Docker) removeContainer(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, mutationTimeout)
	defer cancel()
	for {
		_, err := d.api.ContainerRemove(ctx, id, client.ContainerRemoveOptions{
			Force: true, RemoveVolumes: true,
		})
		switch {
		case err == nil || isNotFound(err):
			return nil
		case !errdefs.IsConflict(err):
			return wrapMutationErr(err)
		}
		if wait.Sleep(ctx, removePause) != nil {
			return wrapMutationErr(err)
		}
	}
}

// removeNetwork disconnects all endpoints first: after a crash the engine may keep
// endpoints of containers that no longer exist.
func (d *Docker) removeNetwork(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, mutationTimeout)
	defer cancel()
	_, err := d.api.NetworkRemove(ctx, id, client.NetworkRemoveOptions{})
	if err == nil || isNotFound(err) {
		return nil
	}
	r, inspectErr := d.api.NetworkInspect(ctx, id, client.NetworkInspectOptions{})
	if inspectErr != nil {
		if isNotFound(inspectErr) {
			return nil
		}
		return wrapMutationErr(err)
	}
	d.disconnectAll(ctx, id, r.Network.Containers)
	_, err = d.api.NetworkRemove(ctx, id, client.NetworkRemoveOptions{})
	if err == nil || isNotFound(err) {
		return nil
	}
	return wrapMutationErr(err)
}

func (d *Docker) disconnectAll(
	ctx context.Context, id string, endpoints map[string]network.EndpointResource,
) {
	for container, endpoint := range endpoints {
		// A dangling endpoint is known by its name only.
		for _, name := range []string{container, endpoint.Name} {
			_, err := d.api.NetworkDisconnect(ctx, id,
				client.NetworkDisconnectOptions{Container: name, Force: true})
			if err == nil {
				break
			}
			d.log.Warn("disconnect from network", "network", id, "endpoint", name, "error", err)
		}
	}
}

func (d *Docker) removeVolume(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, mutationTimeout)
	defer cancel()
	_, err := d.api.VolumeRemove(ctx, name, client.VolumeRemoveOptions{Force: true})
	if err == nil || isNotFound(err) {
		return nil
	}
	return wrapMutationErr(err)
}

// sortMounts makes the specification's digest stable.
func sortMounts(mounts []mount.Mount) {
	slices.SortFunc(mounts, func(a, b mount.Mount) int {
		return strings.Compare(a.Target, b.Target)
	})
}
