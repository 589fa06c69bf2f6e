package docker

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/internal/wait"
	"github.com/nullops/nullops/pipeline"
)

// nameReserved bounds the last wait for a name that the engine holds for a
// container that cannot be seen yet; all waits come to about twice that.
const nameReserved = 3 * time.Second

// containers makes, finds, stops and removes single containers, whatever they are for.
type containers struct {
	*engine
	// sweeps are containers of ended plugins that are being removed in the background.
	sweeps pendingRemovals
	opened time.Time
}

// containerSpec describes a container that the agent creates.
type containerSpec struct {
	name string
	// oldName is what earlier releases called it; empty if that was the same.
	oldName    string
	kind       agent.ObjectKind
	deployment string
	run        string
	step       pipeline.StepKey
	config     *container.Config
	host       *container.HostConfig
	// network is a name; empty means none. alias is the DNS name in it.
	network string
	alias   string
	// prepare, if not nil, is called when the container exists and before it starts.
	prepare func(context.Context) error
	// other, if not nil, is another form that an existing container may have.
	other *otherForm
}

// otherForm is a container that does the same as the specification's.
type otherForm struct {
	digest string
	// keep is called before it is used, and may refuse.
	keep func(context.Context) error
}

// fits reports whether a container has this form. In one whose helper could not start the command,
// the engine cannot say why: it is replaced.
func (f *otherForm) fits(ctx context.Context, r container.InspectResponse) bool {
	if f == nil || r.Config.Labels[labelSpec] != f.digest || r.State != nil && !r.State.Running &&
		(r.State.ExitCode == exitNotExecutable || r.State.ExitCode == exitNotFound) {
		return false
	}
	return f.keep(ctx) == nil
}

func (s containerSpec) specDigest() string {
	return hashParts(s.config, s.host, s.network, s.alias)
}

// ensureRunning makes sure that a container made from this specification exists and is
// started. keep says whether an existing container may be used; a caller that has changed
// files outside the specification passes false.
//
// An existing container may fail to start because something it refers to was replaced, such
// as a network of the same name. It is then created again, once.
func (cs *containers) ensureRunning(ctx context.Context, s containerSpec, keep bool) error {
	id, adopted, err := cs.ensureContainer(ctx, s, keep)
	if err != nil {
		return err
	}
	err = cs.startPrepared(ctx, s, id)
	if err == nil || !adopted || !isEngineAnswer(err) {
		return err
	}
	id, _, err = cs.ensureContainer(ctx, s, false)
	if err != nil {
		return err
	}
	return cs.startPrepared(ctx, s, id)
}

func (cs *containers) startPrepared(ctx context.Context, s containerSpec, id string) error {
	if s.prepare != nil {
		if err := s.prepare(ctx); err != nil {
			return err
		}
	}
	return cs.startContainer(ctx, id)
}

func (cs *containers) startContainer(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, mutationTimeout)
	defer cancel()
	if _, err := cs.api.ContainerStart(ctx, id, client.ContainerStartOptions{}); err != nil {
		if isEngineAnswer(err) {
			return &agent.StartError{Reason: startReason(err.Error()), Cause: err}
		}
		return fmt.Errorf("start container: %w", wrapUnavailable(err))
	}
	return nil
}

// startReason is what an engine says of a start, without the programs that passed it on.
func startReason(said string) string {
	for _, passed := range []string{"Error response from daemon: ", "failed to create shim task: ",
		"failed to create task for container: ", "OCI runtime create failed: ",
		"runc create failed: ", "unable to start container process: ",
		"error during container init: "} {
		said = strings.ReplaceAll(said, passed, "")
	}
	return strings.TrimSuffix(strings.TrimSpace(said), ": unknown")
}

// attachStreams opens the container's stdin, stdout and stderr before it starts.
func (cs *containers) attachStreams(
	ctx context.Context, id string,
) (client.HijackedResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	r, err := cs.api.ContainerAttach(ctx, id, client.ContainerAttachOptions{
		Stream: true, Stdin: true, Stdout: true, Stderr: true,
	})
	if err != nil {
		return client.HijackedResponse{}, fmt.Errorf("attach: %w", wrapUnavailable(err))
	}
	return r.HijackedResponse, nil
}

// ensureContainer creates the container, or adopts the one that has its name.
//
// The engine reserves a name before the container becomes visible. A creation that we have
// given up on and the engine still completes makes ours fail with a conflict although no
// container of that name can be found. That lasts for moments, so it is retried.
func (cs *containers) ensureContainer(
	ctx context.Context, s containerSpec, keep bool,
) (id string, adopted bool, err error) {
	cs.sweeps.waitFor(ctx, s.name)
	if err := cs.renameOld(ctx, s); err != nil {
		return "", false, err
	}
	for pause := 20 * time.Millisecond; ; pause *= 2 {
		id, err = cs.createContainer(ctx, s)
		if !errdefs.IsConflict(err) {
			return id, false, err
		}
		id, adopted, settled := cs.adoptContainer(ctx, s, keep)
		if adopted || settled != nil {
			return id, adopted, settled
		}
		if pause > nameReserved {
			return "", false, err
		}
		if err := wait.Sleep(ctx, pause); err != nil {
			return "", false, err
		}
	}
}

// adoptContainer adopts the container of that name if it was created from the same
// specification, and removes it if not. It is no error if no such container exists.
func (cs *containers) adoptContainer(
	ctx context.Context, s containerSpec, keep bool,
) (id string, adopted bool, err error) {
	r, err := cs.inspectContainer(ctx, s.name)
	if errdefs.IsNotFound(err) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	labels := r.Config.Labels
	if labels[labelInstall] != cs.names.install {
		return "", false, fmt.Errorf("a container called %s exists and is not ours: "+
			"remove or rename it", s.name)
	}
	if keep && onNetwork(r, s.network) &&
		(labels[labelSpec] == s.specDigest() || s.other.fits(ctx, r)) {
		return r.ID, true, nil
	}
	return "", false, cs.discardContainer(ctx, r)
}

func (cs *containers) createContainer(ctx context.Context, s containerSpec) (string, error) {
	ctx, cancel := detachedContext(ctx)
	defer cancel()
	config := *s.config
	config.Labels = cs.names.objectLabels(s.kind, s.deployment, s.run, s.step, s.specDigest())
	host := *s.host
	host.Runtime = cs.config.Runtime
	r, err := cs.api.ContainerCreate(ctx, client.ContainerCreateOptions{
		Name: s.name, Config: &config, HostConfig: &host,
		NetworkingConfig: endpointConfig(s.network, s.alias),
	})
	if isNotFound(err) && strings.Contains(err.Error(), "No such image") {
		return "", fmt.Errorf("create container: %w: %w", agent.ErrNoImage, wrapQueryErr(err))
	}
	if err != nil {
		return "", fmt.Errorf("create container: %w",
			cs.explainCreateErr(ctx, wrapMutationErr(err)))
	}
	cs.noteObject(agent.Object{ID: r.ID, Kind: s.kind, Deployment: s.deployment, Step: s.step})
	return r.ID, nil
}

// inspectContainer returns errors that keep the engine's class, so that the caller can
// detect a missing container.
func (cs *containers) inspectContainer(
	ctx context.Context,
	id string,
) (container.InspectResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	r, err := cs.api.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
	if err != nil {
		return r.Container, fmt.Errorf("inspect container: %w", wrapQueryErr(err))
	}
	return r.Container, nil
}

// noCoreDumps keeps memory, and the secrets in it, out of core files.
func noCoreDumps() []*container.Ulimit { return []*container.Ulimit{{Name: "core"}} }

// onNetwork reports whether a container is still connected to where it belongs.
func onNetwork(r container.InspectResponse, network string) bool {
	if network == "" || r.NetworkSettings == nil {
		return true
	}
	_, on := r.NetworkSettings.Networks[network]
	return on
}

// pendingRemovals are containers of ended plugins that are being removed in the background.
type pendingRemovals struct {
	mu      sync.Mutex
	pending map[string]chan struct{}
}

// removeInBackground removes an ended plugin's container in the background. If that fails,
// the container is still in List.
func (cs *containers) removeInBackground(name, id string) {
	done := make(chan struct{})
	cs.sweeps.mu.Lock()
	cs.sweeps.pending[name] = done
	cs.sweeps.mu.Unlock()
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), mutationTimeout)
		defer cancel()
		if err := cs.removeContainer(ctx, id); err != nil {
			cs.log.Warn("remove ended plugin", "container", name, "error", err)
		}
		cs.sweeps.mu.Lock()
		if cs.sweeps.pending[name] == done {
			delete(cs.sweeps.pending, name)
		}
		cs.sweeps.mu.Unlock()
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

// removeContainer kills and removes a container with its anonymous volumes. It returns once
// the container is gone, also if another removal was already in progress.
func (cs *containers) removeContainer(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, mutationTimeout)
	defer cancel()
	for {
		_, err := cs.api.ContainerRemove(ctx, id, client.ContainerRemoveOptions{
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
