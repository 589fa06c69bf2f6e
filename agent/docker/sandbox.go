package docker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/sidecar"
	"github.com/nullops/nullops/pipeline"
)

// defaultSandboxMemory applies if the configuration has none.
const defaultSandboxMemory = 256 << 20

// sandboxMemory is what a waiting sandbox takes of the node's memory: the helper, the engine's
// process that watches it, and what the kernel keeps for it.
const sandboxMemory = 16 << 20

var (
	// errNoRoom refuses a sandbox ahead of its turn; its step makes its own.
	errNoRoom = errors.New("sandboxes that wait use all the memory that agent.sandboxes.memory " +
		"gives them; raise it to prepare more of them")
	// errNeverBegan says that a sandbox ended before it got the go signal: nothing of its image
	// ran.
	errNeverBegan = errors.New("its sandbox ended before its turn")
)

// sandbox is the container of a plugin, started and waiting for the go signal. Its streams are
// attached, and its end is waited for.
type sandbox struct {
	containers *containers
	id         string
	spec       agent.PluginSpec
	conn       client.HijackedResponse
	exit       client.ContainerWaitResult
	// place is what it uses of the deployment's network.
	place place
	// stop ends the wait. ended: its result has been read.
	stop  context.CancelFunc
	ended bool
}

// sandboxes knows those that wait for their turn. It is the only way to a go signal, and what it
// hands out it forgets: a sandbox is used once. After a restart nobody knows them; their stdin
// ended with the agent, and so did they.
type sandboxes struct {
	mu       sync.Mutex
	waiting  map[agent.PluginSpec]*sandbox
	services map[serviceKey]*serviceSandbox
	// limit is how many may wait, over all deployments.
	limit int
}

// serviceKey names a service or a job.
type serviceKey struct {
	deployment string
	step       pipeline.StepKey
}

func newSandboxes(memory int64) *sandboxes {
	return &sandboxes{waiting: map[agent.PluginSpec]*sandbox{},
		services: map[serviceKey]*serviceSandbox{}, limit: int(max(memory, 0) / sandboxMemory)}
}

// put returns false if there is no room.
func (sb *sandboxes) put(s *sandbox) bool {
	sb.mu.Lock()
	defer sb.mu.Unlock()
	if len(sb.waiting)+len(sb.services) >= sb.limit {
		return false
	}
	sb.waiting[s.spec] = s
	return true
}

// putService returns false if there is no room.
func (sb *sandboxes) putService(s *serviceSandbox) bool {
	sb.mu.Lock()
	defer sb.mu.Unlock()
	if len(sb.waiting)+len(sb.services) >= sb.limit {
		return false
	}
	sb.services[serviceKey{s.spec.Deployment, s.spec.Step}] = s
	return true
}

func (sb *sandboxes) hasRoom() bool {
	sb.mu.Lock()
	defer sb.mu.Unlock()
	return len(sb.waiting)+len(sb.services) < sb.limit
}

// takeService forgets what it returns. It returns nil unless one waits.
func (sb *sandboxes) takeService(deployment string, step pipeline.StepKey) *serviceSandbox {
	sb.mu.Lock()
	defer sb.mu.Unlock()
	key := serviceKey{deployment, step}
	s := sb.services[key]
	delete(sb.services, key)
	return s
}

// has reports whether a container waits for its turn.
func (sb *sandboxes) has(id string) bool {
	sb.mu.Lock()
	defer sb.mu.Unlock()
	for _, s := range sb.waiting {
		if s.id == id {
			return true
		}
	}
	for _, s := range sb.services {
		if s.id == id {
			return true
		}
	}
	return false
}

// take forgets what it returns. It returns nil unless one waits.
func (sb *sandboxes) take(p agent.PluginSpec) *sandbox {
	sb.mu.Lock()
	defer sb.mu.Unlock()
	s := sb.waiting[p]
	delete(sb.waiting, p)
	return s
}

// hangUp forgets those of a deployment, or all if it is empty, and ends their wait. It returns the
// names of their containers by id.
func (sb *sandboxes) hangUp(deployment string, names nameScheme) map[string]string {
	sb.mu.Lock()
	defer sb.mu.Unlock()
	ended := map[string]string{}
	for p, s := range sb.waiting {
		if deployment == "" || p.Deployment == deployment {
			s.hangUp()
			ended[s.id] = names.pluginName(p)
			delete(sb.waiting, p)
		}
	}
	for key, s := range sb.services {
		if deployment == "" || key.deployment == deployment {
			s.hangUp()
			ended[s.id] = names.serviceName(key.deployment, key.step)
			delete(sb.services, key)
		}
	}
	return ended
}

// CreatePlugin prepares the sandbox of a plugin before RunPlugin gives it the go signal.
func (pl *plugins) CreatePlugin(ctx context.Context, p agent.PluginSpec) error {
	p.Pieces = nil
	if s := pl.sandboxes.take(p); s != nil {
		if s.isWaiting() && s.place.isThere() && pl.sandboxes.put(s) {
			return nil
		}
		s.hangUp()
	}
	if !pl.sandboxes.hasRoom() {
		return pluginError(p, errNoRoom)
	}
	s, err := pl.openSandbox(ctx, p)
	if err != nil {
		return pluginError(p, err)
	}
	if err := pl.config.Failpoint.Hit("sandbox.waits"); err != nil {
		return pluginError(p, errors.Join(err, s.discard(ctx)))
	}
	if !pl.sandboxes.put(s) {
		return pluginError(p, errors.Join(errNoRoom, s.discard(ctx)))
	}
	return nil
}

// takeSandbox returns one that waits, or makes it.
func (pl *plugins) takeSandbox(
	ctx context.Context, p agent.PluginSpec,
) (s *sandbox, prepared bool, err error) {
	if s := pl.sandboxes.take(p); s != nil {
		if s.isWaiting() && s.place.isThere() {
			return s, true, nil
		}
		// It was killed, it has lost its network, or the engine was restarted. Its name makes
		// openSandbox replace it.
		s.hangUp()
	}
	s, err = pl.openSandbox(ctx, p)
	return s, false, err
}

// openSandbox makes a container that waits for the go signal. If the place that it was to share
// went away meanwhile, it gets one of its own.
func (pl *plugins) openSandbox(ctx context.Context, p agent.PluginSpec) (*sandbox, error) {
	at := pl.holders.takePlace(ctx, p)
	s, err := pl.openSandboxAt(ctx, p, at)
	if err != nil && at.holder != nil && isEngineAnswer(err) && ctx.Err() == nil {
		at.holder = nil
		s, err = pl.openSandboxAt(ctx, p, at)
	}
	if err != nil {
		at.leave()
		return nil, err
	}
	s.place = at
	return s, nil
}

// openSandboxAt makes a container, attaches its streams, and starts it. No instruction of the image
// runs before it gets the go signal.
func (pl *plugins) openSandboxAt(
	ctx context.Context, p agent.PluginSpec, at place,
) (*sandbox, error) {
	id, err := pl.createPlugin(ctx, p, at)
	if err != nil {
		return nil, err
	}
	if err := pl.config.Failpoint.Hit("sandbox.created"); err != nil {
		return nil, err
	}
	conn, err := pl.attachStreams(ctx, id)
	if err != nil {
		return nil, err
	}
	s := &sandbox{containers: pl.containers, id: id, spec: p, conn: conn}
	// The wait outlives a cancelled caller: the container must be ended first.
	watch, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	s.requestExitWait(ctx, watch)
	if err = watch.Err(); err != nil {
		err = fmt.Errorf("wait for its end: %w", wrapUnavailable(err))
	} else {
		err = pl.startContainer(ctx, id)
	}
	if err != nil {
		return nil, errors.Join(err, s.discard(ctx))
	}
	return s, nil
}

// requestExitWait subscribes to the end of the container before it starts. The engine normally
// answers at once; if it is frozen, neither the agent nor a cancelled caller may block on it.
func (s *sandbox) requestExitWait(ctx, watch context.Context) {
	late := time.AfterFunc(queryTimeout, s.stop)
	defer late.Stop()
	defer context.AfterFunc(ctx, s.stop)()
	s.exit = s.containers.api.ContainerWait(watch, s.id, client.ContainerWaitOptions{
		Condition: container.WaitConditionNextExit,
	})
}

// isWaiting reports whether the container has not ended, as far as the engine has said.
func (s *sandbox) isWaiting() bool {
	select {
	case <-s.exit.Result:
	case <-s.exit.Error:
	default:
		return true
	}
	s.ended = true
	return false
}

// hangUp closes the streams, ends the wait, and leaves the place in the network. A sandbox that
// still waits ends with its stdin.
func (s *sandbox) hangUp() {
	if s.place.leave != nil {
		s.place.leave()
	}
	if s.conn.Conn != nil {
		_ = s.conn.Conn.Close()
	}
	if s.stop != nil {
		s.stop()
	}
	if s.ended {
		return
	}
	s.ended = true
	go func() {
		// The client's goroutine blocks until its result is read. It ends with the wait's context
		// at the latest.
		select {
		case <-s.exit.Result:
		case err := <-s.exit.Error:
			s.containers.log.Debug("wait for abandoned plugin", "container", s.id, "error", err)
		}
	}()
}

// discard removes a container that may have started although the engine returned an error, or
// none.
func (s *sandbox) discard(ctx context.Context) error {
	s.hangUp()
	clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), killTime)
	defer cancel()
	if err := s.containers.removeContainer(clean, s.id); err != nil {
		return fmt.Errorf("it may still run: %w", err)
	}
	return nil
}

// newNonce returns the go signal of one sandbox.
func newNonce() []byte {
	nonce := make([]byte, sidecar.SandboxNonce)
	_, _ = rand.Read(nonce) // never fails: the process dies instead
	return nonce
}
