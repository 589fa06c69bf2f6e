package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/pipeline"
)

// renameAfter is how long an agent must have run before it renames what an earlier release
// created. An upgraded agent that does not stay up for aliveFor is replaced by the old one,
// which knows only the old names.
const renameAfter = 3 * aliveFor

// oldServiceName and oldPluginName are the names in earlier releases: all parts joined with
// dashes, which can be longer than a DNS label may be.
func (n nameScheme) oldServiceName(deployment string, step pipeline.StepKey) string {
	return n.objectName(deployment, "service", string(step))
}

func (n nameScheme) oldPluginName(p agent.PluginSpec) string {
	return n.objectName(p.Deployment, "plugin", p.Action, string(p.Step))
}

// oldVolumeName joins its parts with dashes, as in earlier releases; see volumeName.
func (n nameScheme) oldVolumeName(deployment string, step pipeline.StepKey, volume string) string {
	return n.objectName(deployment, "volume", string(step), volume)
}

// separableVolumeName separates the parts with a dot, which is in no key, where
// oldVolumeName would be ambiguous.
func (n nameScheme) separableVolumeName(v agent.VolumeName) string {
	return n.objectName(v.Deployment, "volume", string(v.Service)+"."+v.Name)
}

// sharedVolume has no step's key in front of its dot, so that it is no service's.
func (n nameScheme) sharedVolume(v agent.VolumeName) string {
	return n.objectName(v.Deployment, "volume", "."+v.Name)
}

// oldKindRelay is the relay's label in earlier releases. Its container, its folder and its socket
// were called the same.
const oldKindRelay = "gate"

// parseKind reads a kind that we stored, in a label or on disk.
func parseKind(stored string) agent.ObjectKind {
	if stored == oldKindRelay {
		return agent.KindRelay
	}
	return agent.ObjectKind(stored)
}

func (n nameScheme) oldRelayName(deployment string) string {
	return n.fitName(deployment, oldKindRelay)
}

func (rl *relays) oldRelaysDir() string {
	return filepath.Join(rl.config.DataDir, oldKindRelay+"s")
}

func (rl *relays) oldRelayDir(deployment string) string {
	return filepath.Join(rl.oldRelaysDir(), filepath.Base(rl.relayDir(deployment)))
}

// findRelaySocket returns the socket of the deployment's relay, which an earlier release may have
// started: its container keeps its folder until Prepare replaces it.
func (rl *relays) findRelaySocket(deployment string) string {
	socket := rl.relaySocket(deployment)
	if _, err := os.Lstat(socket); !errors.Is(err, os.ErrNotExist) {
		return socket
	}
	old := filepath.Join(rl.oldRelayDir(deployment), oldKindRelay+".sock")
	if _, err := os.Lstat(old); err == nil {
		return old
	}
	return socket
}

// removeOldRelayDir removes the folder of a relay that an earlier release started, and the folder
// above it after the last one.
func (rl *relays) removeOldRelayDir(deployment string) error {
	if err := os.RemoveAll(rl.oldRelayDir(deployment)); err != nil {
		return err
	}
	// It fails as long as there is another deployment's, or if there never was one.
	_ = os.Remove(rl.oldRelaysDir())
	return nil
}

func (rl *relays) removeRelayDirs(deployment string) error {
	return errors.Join(os.RemoveAll(rl.relayDir(deployment)), rl.removeOldRelayDir(deployment))
}

// findService inspects a service's container, also one that has its old name. It
// renames that one, since its reverse DNS hangs until then.
func (cs *containers) findService(
	ctx context.Context, deployment string, step pipeline.StepKey,
) (container.InspectResponse, error) {
	name := cs.names.serviceName(deployment, step)
	c, err := cs.inspectContainer(ctx, name)
	if !errdefs.IsNotFound(err) {
		return c, err
	}
	old, ok := cs.findOldService(ctx, deployment, step)
	if !ok {
		// Another call may have renamed it in between.
		return cs.inspectContainer(ctx, name)
	}
	if time.Since(cs.opened) >= cs.config.RenameAfter {
		if err := cs.renameContainer(ctx, old, name); err != nil {
			cs.log.Warn("a service's container keeps the name of an earlier release",
				"container", old.Name, "error", err)
		}
	}
	return old, nil
}

// findOldService inspects a service's container if it has its old name and is ours.
func (cs *containers) findOldService(
	ctx context.Context, deployment string, step pipeline.StepKey,
) (container.InspectResponse, bool) {
	c, err := cs.inspectContainer(ctx, cs.names.oldServiceName(deployment, step))
	ours := err == nil && c.Config != nil && c.Config.Labels[labelInstall] == cs.names.install
	return c, ours
}

// renameOld renames a container with a name of an earlier release, so that it is found and
// adopted: a second container would answer to the same host name in the deployment's
// network.
func (cs *containers) renameOld(ctx context.Context, s containerSpec) error {
	if s.oldName == "" {
		return nil
	}
	c, err := cs.inspectContainer(ctx, s.oldName)
	if errdefs.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if c.Config == nil || c.Config.Labels[labelInstall] != cs.names.install {
		return nil
	}
	return cs.renameContainer(ctx, c, s.name)
}

// renameContainer renames a container; if another one already has the name, that one is
// newer and this one is removed instead.
func (cs *containers) renameContainer(
	ctx context.Context,
	c container.InspectResponse,
	name string,
) error {
	act, cancel := context.WithTimeout(ctx, mutationTimeout)
	defer cancel()
	_, err := cs.api.ContainerRename(act, c.ID, client.ContainerRenameOptions{NewName: name})
	if err == nil || isNotFound(err) {
		return nil
	}
	if other, failed := cs.inspectContainer(ctx, name); failed == nil {
		if other.ID == c.ID {
			return nil
		}
		return cs.discardContainer(ctx, c)
	}
	return fmt.Errorf("rename container to %s: %w", name, wrapMutationErr(err))
}
