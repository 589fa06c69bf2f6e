package docker

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
	"golang.org/x/sync/errgroup"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/sidecar"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/internal/wait"
)

const (
	// probePort is any above those that need a privilege.
	probePort = "7777"
	// probeTries is how often in a row the other network must be reached: an
	// engine that starts puts its rules up one by one.
	probeTries = 3
	probePause = time.Second
	// probeReady is how long a listener may take to start. It is long because a probe that
	// times out on a busy machine has no result.
	probeReady = 30 * time.Second
	// probedRelays is how many deployments a probe looks at, others each time, and listenSeconds
	// how long their relays listen for it.
	probedRelays  = 4
	listenSeconds = "60"
	// isolationTime bounds a whole probe on a slow machine.
	isolationTime = 3 * time.Minute
)

// isolation tries whether networks are really apart.
type isolation struct {
	*containers
	networks *networks
	helper   *helperImage
	// turns counts isolation probes, which look at other deployments each time.
	turns atomic.Int64
}

// ProbeIsolation tests whether networks can reach each other: two temporary ones with a container
// in each, and those of some deployments, from relay to relay. Only a test shows that the engine's
// rules are in force: a reloaded firewall removes them without notice. Without a result the check
// is unknown, not OK.
func (is *isolation) ProbeIsolation(ctx context.Context) wire.Check {
	ctx, cancel := context.WithTimeout(ctx, isolationTime)
	defer cancel()
	reached, err := is.tryIsolation(ctx)
	switch {
	case err != nil:
		is.log.Warn("the isolation probe could not be made", "error", err)
		return failedCheck(checkIsolation, wire.SeverityUnknown,
			"Whether networks are apart could not be tried: "+clipOutput(err.Error())+".",
			"Look whether the engine can make networks and containers.")
	case reached:
		return failedCheck(checkIsolation, wire.SeverityCritical,
			"Containers of two networks reached each other: deployments are not isolated.",
			"Restart the Docker Engine, which puts its firewall rules back, and find out what "+
				"took them away, such as a reload of firewalld.")
	}
	return okCheck(checkIsolation, "Containers of different networks did not reach each other.")
}

// probeContainer is one of the two containers.
type probeContainer struct {
	name, id, address string
}

func (is *isolation) tryIsolation(ctx context.Context) (reached bool, err error) {
	// What a probe left that was killed, and what this one makes.
	if err := is.removeProbeObjects(ctx); err != nil {
		return false, err
	}
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), mutationTimeout)
		defer cancel()
		err = errors.Join(err, is.removeProbeObjects(end))
	}()
	if err := is.helper.ensureRelayImage(ctx); err != nil {
		return false, err
	}
	a, err := is.makeProbeContainer(ctx, "a")
	if err != nil {
		return false, err
	}
	b, err := is.makeProbeContainer(ctx, "b")
	if err != nil {
		return false, err
	}
	for _, end := range []probeContainer{a, b} {
		// Without a listener that is known to work, a failed connection would prove nothing.
		heard, err := is.waitReachable(ctx, end, end)
		if err != nil || !heard {
			return false, errors.Join(err, errors.New("the probe does not hear itself"))
		}
	}
	tries := [][2]probeContainer{{a, b}, {b, a}}
	relays, err := is.relayProbeEnds(ctx)
	if err != nil {
		return false, err
	}
	for i := range len(relays) {
		if next := relays[(i+1)%len(relays)]; next.id != relays[i].id {
			tries = append(tries, [2]probeContainer{relays[i], next})
		}
	}
	return is.confirmReachable(ctx, tries)
}

// confirmReachable retries what was reachable: only what is reachable every time counts as open. A
// relay that is removed with its deployment is not.
func (is *isolation) confirmReachable(
	ctx context.Context, tries [][2]probeContainer,
) (bool, error) {
	for range probeTries {
		open, err := is.reachAll(ctx, tries)
		if err != nil {
			return false, err
		}
		if tries = open; len(tries) == 0 {
			return false, nil
		}
		if err := wait.Sleep(ctx, probePause); err != nil {
			return false, err
		}
	}
	return true, nil
}

// reachAll makes all tries at the same time, since each that fails takes its full timeout,
// and returns those that succeeded.
func (is *isolation) reachAll(
	ctx context.Context, tries [][2]probeContainer,
) (open [][2]probeContainer, err error) {
	reached := make([]bool, len(tries))
	var group errgroup.Group
	for i, t := range tries {
		group.Go(func() (err error) {
			reached[i], err = is.canReach(ctx, t[0], t[1])
			if errdefs.IsNotFound(err) || errdefs.IsConflict(err) {
				return nil
			}
			return err
		})
	}
	err = group.Wait()
	for i, t := range tries {
		if reached[i] {
			open = append(open, t)
		}
	}
	return open, err
}

// relayProbeEnds makes the relays of some deployments listen for a moment and returns them. The
// engine creates its rules together with each network: those of the temporary networks are new,
// while those of the deployments may have been removed long ago.
func (is *isolation) relayProbeEnds(ctx context.Context) (ends []probeContainer, err error) {
	r, err := is.api.ContainerList(ctx, client.ContainerListOptions{Filters: is.names.ownFilter("").
		Add("label", labelKind+"="+string(agent.KindRelay)).Add("ancestor", is.helper.relayImage())})
	if err != nil {
		return nil, fmt.Errorf("list relays: %w", wrapUnavailable(err))
	}
	from := int(is.turns.Add(1)-1) * probedRelays
	for i := range min(len(r.Items), probedRelays) {
		c := r.Items[(from+i)%len(r.Items)]
		end := probeContainer{
			name:    "a deployment's relay",
			id:      c.ID,
			address: addressOf(c.NetworkSettings),
		}
		// One whose deployment is removed in between is no end, and no error.
		if is.startRole(ctx, end, "listen", probePort, listenSeconds) != nil {
			continue
		}
		if heard, err := is.waitReachable(ctx, end, end); err == nil && heard {
			ends = append(ends, end)
		}
	}
	return ends, ctx.Err()
}

func addressOf(n *container.NetworkSettingsSummary) string {
	if n != nil {
		for _, e := range n.Networks {
			return e.IPAddress.String() + ":" + probePort
		}
	}
	return ""
}

// startRole starts the sidecar in a role beside a container's own process.
func (is *isolation) startRole(ctx context.Context, in probeContainer, role ...string) error {
	_, err := is.execRole(ctx, in, role...)
	return err
}

func (is *isolation) execRole(
	ctx context.Context, in probeContainer, role ...string,
) (string, error) {
	e, err := is.api.ExecCreate(ctx, in.id, client.ExecCreateOptions{
		Cmd: append([]string{"/sidecar"}, role...)})
	if err == nil {
		_, err = is.api.ExecStart(ctx, e.ID, client.ExecStartOptions{Detach: true})
	}
	if err != nil {
		return "", fmt.Errorf("%s in %s: %w", role[0], in.name, wrapMutationErr(err))
	}
	return e.ID, nil
}

// makeProbeContainer makes a network like a deployment's, with a container that listens.
func (is *isolation) makeProbeContainer(ctx context.Context, name string) (probeContainer, error) {
	end := probeContainer{name: is.names.fitName("probe"+is.config.ProbeName, name)}
	labels := map[string]string{labelProbe: is.probeLabel()}
	nobody := func([]network.Summary) bool { return false }
	if err := is.networks.makeNetwork(ctx, end.name, labels, nobody); err != nil {
		return end, err
	}
	r, err := is.api.ContainerCreate(ctx, client.ContainerCreateOptions{
		Name: end.name, Config: &container.Config{Image: is.helper.relayImage(), Labels: labels,
			Cmd: []string{"listen", probePort}},
		HostConfig: is.probeHost(end.name), NetworkingConfig: endpointConfig(end.name, ""),
	})
	if err != nil {
		return end, fmt.Errorf("create probe: %w", wrapMutationErr(err))
	}
	end.id = r.ID
	if err := is.startContainer(ctx, end.id); err != nil {
		return end, err
	}
	c, err := is.inspectContainer(ctx, end.id)
	if err != nil {
		return end, err
	}
	if c.NetworkSettings == nil {
		return end, errors.New("the probe has no network")
	}
	for _, n := range c.NetworkSettings.Networks {
		end.address = n.IPAddress.String() + ":" + probePort
	}
	return end, nil
}

// probeHost restricts a probe's container as much as a relay's.
func (is *isolation) probeHost(network string) *container.HostConfig {
	pids := int64(relayPids)
	return &container.HostConfig{
		Runtime: is.config.Runtime, NetworkMode: container.NetworkMode(network), LogConfig: serviceLogs(),
		ReadonlyRootfs: true, CapDrop: []string{"ALL"},
		SecurityOpt: []string{"no-new-privileges"},
		Resources: container.Resources{Memory: relayMemory, MemorySwap: relayMemory,
			PidsLimit: &pids, NanoCPUs: 1e9, Ulimits: noCoreDumps()},
	}
}

// waitReachable retries until a container that has just been started listens, at most for
// probeReady.
func (is *isolation) waitReachable(ctx context.Context, from, to probeContainer) (bool, error) {
	deadline := time.Now().Add(probeReady)
	for {
		there, err := is.canReach(ctx, from, to)
		if err != nil || there || time.Now().After(deadline) {
			return there, err
		}
		if err := wait.Sleep(ctx, execPoll); err != nil {
			return false, err
		}
	}
}

// canReach tries one connection from inside a container.
func (is *isolation) canReach(ctx context.Context, from, to probeContainer) (bool, error) {
	id, err := is.execRole(ctx, from, "reach", to.address)
	if err != nil {
		return false, err
	}
	for {
		r, err := is.api.ExecInspect(ctx, id, client.ExecInspectOptions{})
		switch {
		case err != nil:
			return false, fmt.Errorf("try from %s: %w", from.name, wrapUnavailable(err))
		case r.Running:
		case r.ExitCode == 0:
			return true, nil
		case r.ExitCode == sidecar.ExitUnreachable:
			return false, nil
		default:
			return false, fmt.Errorf("the try from %s ended with code %d", from.name, r.ExitCode)
		}
		if err := wait.Sleep(ctx, execPoll); err != nil {
			return false, err
		}
	}
}

func (is *isolation) probeLabel() string { return is.names.install + is.config.ProbeName }

// removeProbeObjects removes everything that a probe of this installation made.
func (is *isolation) removeProbeObjects(ctx context.Context) error {
	filter := make(client.Filters).Add("label", labelProbe+"="+is.probeLabel())
	r, err := is.api.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: filter})
	if err != nil {
		return fmt.Errorf("list probes: %w", wrapUnavailable(err))
	}
	var errs []error
	for _, c := range r.Items {
		errs = append(errs, is.removeContainer(ctx, c.ID))
	}
	networks, err := is.networks.listNetworks(ctx, filter)
	errs = append(errs, err)
	for _, n := range networks {
		_, err := is.api.NetworkRemove(ctx, n.ID, client.NetworkRemoveOptions{})
		if err != nil && !errdefs.IsNotFound(err) {
			errs = append(errs, fmt.Errorf("remove network of a probe: %w", wrapMutationErr(err)))
		}
	}
	return errors.Join(errs...)
}
