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

	"github.com/moby/moby/api/types/mount"

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

// removal removes single objects, and all of a deployment.
type removal struct {
	*containers
	objects  *objects
	networks *networks
	volumes  *volumes
	files    *serviceFiles
	relays   *relays
	plugins  *plugins
}

// Remove deletes one object and what hangs on it. A service is stopped first.
func (rm *removal) Remove(ctx context.Context, o agent.Object) error {
	if o.Kind == agent.KindService {
		if s := rm.plugins.sandboxes.takeService(o.Deployment, o.Step); s != nil {
			s.hangUp()
		}
	}
	rm.stopServices(ctx, o)
	return rm.removeObject(ctx, o)
}

func (rm *removal) removeObject(ctx context.Context, o agent.Object) error {
	if err := rm.removeByKind(ctx, o); err != nil {
		return fmt.Errorf("remove %s %s: %w", o.Kind, o.Name, err)
	}
	return nil
}

func (rm *removal) removeByKind(ctx context.Context, o agent.Object) error {
	switch o.Kind {
	case agent.KindService:
		if err := rm.removeContainer(ctx, o.ID); err != nil {
			return err
		}
		if checkNames(o.Deployment, string(o.Step)) != nil {
			return nil
		}
		return os.RemoveAll(rm.files.stepDir(o.Deployment, o.Step))
	case agent.KindRelay:
		if err := rm.removeContainer(ctx, o.ID); err != nil {
			return err
		}
		if checkNames(o.Deployment) != nil {
			return nil
		}
		return rm.relays.removeRelayDirs(o.Deployment)
	case agent.KindPlugin, agent.KindHolder, agent.KindCopy:
		return rm.removeContainer(ctx, o.ID)
	case agent.KindNetwork:
		return rm.networks.removeNetwork(ctx, o.ID)
	case agent.KindVolume:
		return rm.volumes.removeVolume(ctx, o.ID)
	case agent.KindTmpfs:
		if err := checkNames(o.Deployment); err != nil {
			return err
		}
		return os.RemoveAll(rm.files.deploymentDir(o.Deployment))
	}
	return fmt.Errorf("unknown kind %q", o.Kind)
}

// RemoveDeployment stops the services of a deployment, all at once, and deletes its objects in
// dependency order. It repeats this until nothing is left or a minute has passed, and returns what
// is left with the last error.
func (rm *removal) RemoveDeployment(
	ctx context.Context, deployment string,
) ([]agent.Object, error) {
	if err := checkNames(deployment); err != nil {
		return nil, err
	}
	rm.plugins.sandboxes.hangUp(deployment, rm.names)
	// Objects that cannot be listed now are listed again below, and killed.
	if all, err := rm.objects.listObjects(ctx, deployment); err == nil {
		rm.stopServices(ctx, all...)
	}
	ctx, cancel := context.WithTimeout(ctx, removeTime)
	defer cancel()
	var left []agent.Object
	var failure error
	for {
		all, err := rm.objects.listObjects(ctx, deployment)
		if err == nil {
			left = all
			if len(left) == 0 {
				return nil, rm.removeFolders(deployment)
			}
			failure = rm.removeAll(ctx, left)
		} else {
			failure = err
		}
		if failure != nil && wait.Sleep(ctx, removePause) != nil {
			return left, fmt.Errorf("remove deployment %s: %w", deployment, failure)
		}
	}
}

func (rm *removal) removeFolders(deployment string) error {
	return errors.Join(
		os.RemoveAll(rm.files.deploymentDir(deployment)), rm.relays.removeRelayDirs(deployment))
}

// removeAll tries every object once: containers first, since they hold the
// volumes and the network.
func (rm *removal) removeAll(ctx context.Context, all []agent.Object) error {
	var containers, others []agent.Object
	for _, o := range all {
		switch o.Kind {
		case agent.KindService, agent.KindPlugin, agent.KindHolder, agent.KindRelay, agent.KindCopy:
			containers = append(containers, o)
		default:
			// An unknown kind too, for which removeObject fails: left out, it would be listed again
			// and again without a pause.
			others = append(others, o)
		}
	}
	err := rm.removeContainers(ctx, containers)
	for _, o := range others {
		err = errors.Join(err, rm.removeObject(ctx, o))
	}
	return err
}

func (rm *removal) removeContainers(ctx context.Context, all []agent.Object) error {
	var wg sync.WaitGroup
	results := make([]error, len(all))
	slots := make(chan struct{}, removeAtOnce)
	for i, o := range all {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			results[i] = rm.removeObject(ctx, o)
		})
	}
	wg.Wait()
	return errors.Join(results...)
}

// sortMounts makes the specification's digest stable.
func sortMounts(mounts []mount.Mount) {
	slices.SortFunc(mounts, func(a, b mount.Mount) int {
		return strings.Compare(a.Target, b.Target)
	})
}
