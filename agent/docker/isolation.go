package docker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
	"golang.org/x/sync/errgroup"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/sidecar"
	"github.com/nullops/nullops/agent/wire"
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
	// probeGates is how many deployments a probe looks at, others each time, and
	// listenSeconds how long their gates listen for it.
	probeGates    = 4
	listenSeconds = "60"
	// isolationTime bounds a whole probe on a slow machine.
	isolationTime = 3 * time.Minute
)

// ProbeIsolation tests whether networks can reach each other: two temporary ones with a
// container in each, and those of some deployments, from gate to gate. Only a test shows
// that the engine's rules are in force: a reloaded firewall removes them without notice.
// Without a result the check is unknown, not OK.
func (d *Docker) ProbeIsolation(ctx context.Context) wire.Check {
	ctx, cancel := context.WithTimeout(ctx, isolationTime)
	defer cancel()
	reached, err := d.tryIsolation(ctx)
	switch {
	case err != nil:
		d.log.Warn("the isolation probe could not be made", "error", err)
		return bad(checkIsolation, wire.SeverityUnknown,
			"Whether networks are apart could not be tried: "+clip(err.Error())+".",
			"Look whether the engine can make networks and containers.")
	case reached:
		return bad(checkIsolation, wire.SeverityCritical,
			"Containers of two networks reached each other: deployments are not isolated.",
			"Restart the Docker Engine, which puts its firewall rules back, and find out what "+
				"took them away, such as a reload of firewalld.")
	}
	return good(checkIsolation, "Containers of different networks did not reach each other.")
}

// probeEnd is one of the two containers.
type probeEnd struct {
	name, id, address string
}

func (d *Docker) tryIsolation(ctx context.Context) (reached bool, err error) {
	// What a probe left that was killed, and what this one makes.
	if err := d.dropProbe(ctx); err != nil {
		return false, err
	}
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), actTime)
		defer cancel()
		err = errors.Join(err, d.dropProbe(end))
	}()
	if err := d.ensureGateImage(ctx); err != nil {
		return false, err
	}
	a, err := d.probeEnd(ctx, "a")
	if err != nil {
		return false, err
	}
	b, err := d.probeEnd(ctx, "b")
	if err != nil {
		return false, err
	}
	for _, end := range []probeEnd{a, b} {
		// Without a listener that is known to work, a failed connection would prove nothing.
		heard, err := d.awaitReach(ctx, end, end)
		if err != nil || !heard {
			return false, errors.Join(err, errors.New("the probe does not hear itself"))
		}
	}
	tries := [][2]probeEnd{{a, b}, {b, a}}
	gates, err := d.gateEnds(ctx)
	if err != nil {
		return false, err
	}
	for i := range len(gates) {
		if next := gates[(i+1)%len(gates)]; next.id != gates[i].id {
			tries = append(tries, [2]probeEnd{gates[i], next})
		}
	}
	return d.anyReach(ctx, tries)
}

// confirmReachable retries what was reachable: only what is reachable every time counts as
// open. A gate that is removed with its deployment is not.
func (d *Docker) anyReach(ctx context.Context, tries [][2]probeEnd) (bool, error) {
	for range probeTries {
		open, err := d.reachAll(ctx, tries)
		if err != nil {
			return false, err
		}
		if tries = open; len(tries) == 0 {
			return false, nil
		}
		if err := pause(ctx, probePause); err != nil {
			return false, err
		}
	}
	return true, nil
}

// reachAll makes all tries at the same time, since each that fails takes its full timeout,
// and returns those that succeeded.
func (d *Docker) reachAll(
	ctx context.Context, tries [][2]probeEnd,
) (open [][2]probeEnd, err error) {
	reached := make([]bool, len(tries))
	var group errgroup.Group
	for i, t := range tries {
		group.Go(func() (err error) {
			reached[i], err = d.reach(ctx, t[0], t[1])
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

// gateProbeEnds makes the gates of some deployments listen for a moment and returns them.
// The engine creates its rules together with each network: those of the temporary networks
// are new, while those of the deployments may have been removed long ago.
func (d *Docker) gateEnds(ctx context.Context) (ends []probeEnd, err error) {
	r, err := d.api.ContainerList(ctx, client.ContainerListOptions{Filters: d.names.ours("").
		Add("label", labelKind+"="+string(agent.KindGate)).Add("ancestor", d.gateImage())})
	if err != nil {
		return nil, fmt.Errorf("list gates: %w", unavailable(err))
	}
	from := int(d.turns.Add(1)-1) * probeGates
	for i := range min(len(r.Items), probeGates) {
		c := r.Items[(from+i)%len(r.Items)]
		end := probeEnd{name: "a deployment's gate", id: c.ID, address: addressOf(c.NetworkSettings)}
		// One whose deployment is removed in between is no end, and no error.
		if d.exec(ctx, end, "listen", probePort, listenSeconds) != nil {
			continue
		}
		if heard, err := d.awaitReach(ctx, end, end); err == nil && heard {
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

// exec starts the sidecar in a role beside a container's own process.
func (d *Docker) exec(ctx context.Context, in probeEnd, role ...string) error {
	_, err := d.execute(ctx, in, role...)
	return err
}

func (d *Docker) execute(ctx context.Context, in probeEnd, role ...string) (string, error) {
	e, err := d.api.ExecCreate(ctx, in.id, client.ExecCreateOptions{
		Cmd: append([]string{"/sidecar"}, role...)})
	if err == nil {
		_, err = d.api.ExecStart(ctx, e.ID, client.ExecStartOptions{Detach: true})
	}
	if err != nil {
		return "", fmt.Errorf("%s in %s: %w", role[0], in.name, acted(err))
	}
	return e.ID, nil
}

// probeEnd makes a network like a deployment's, with a container that listens.
func (d *Docker) probeEnd(ctx context.Context, name string) (probeEnd, error) {
	end := probeEnd{name: d.names.fit("probe"+d.config.ProbeName, name)}
	labels := map[string]string{labelProbe: d.probeLabel()}
	nobody := func([]network.Summary) bool { return false }
	if err := d.makeNetwork(ctx, end.name, labels, nobody); err != nil {
		return end, err
	}
	r, err := d.api.ContainerCreate(ctx, client.ContainerCreateOptions{
		Name: end.name, Config: &container.Config{Image: d.gateImage(), Labels: labels,
			Cmd: []string{"listen", probePort}},
		HostConfig: d.probeHost(end.name), NetworkingConfig: endpoint(end.name, ""),
	})
	if err != nil {
		return end, fmt.Errorf("create probe: %w", acted(err))
	}
	end.id = r.ID
	if err := d.start(ctx, end.id); err != nil {
		return end, err
	}
	c, err := d.inspect(ctx, end.id)
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

// probeHost restricts a probe's container as much as a gate's.
func (d *Docker) probeHost(network string) *container.HostConfig {
	pids := int64(gatePids)
	return &container.HostConfig{
		NetworkMode: container.NetworkMode(network), LogConfig: serviceLogs(),
		ReadonlyRootfs: true, CapDrop: []string{"ALL"},
		SecurityOpt: []string{"no-new-privileges"},
		Resources: container.Resources{Memory: gateMemory, MemorySwap: gateMemory,
			PidsLimit: &pids, NanoCPUs: 1e9, Ulimits: noCore()},
	}
}

// waitReachable retries until a container that has just been started listens, at most for
// probeReady.
func (d *Docker) awaitReach(ctx context.Context, from, to probeEnd) (bool, error) {
	deadline := time.Now().Add(probeReady)
	for {
		there, err := d.reach(ctx, from, to)
		if err != nil || there || time.Now().After(deadline) {
			return there, err
		}
		if err := pause(ctx, execPoll); err != nil {
			return false, err
		}
	}
}

// canReach tries one connection from inside a container.
func (d *Docker) reach(ctx context.Context, from, to probeEnd) (bool, error) {
	id, err := d.execute(ctx, from, "reach", to.address)
	if err != nil {
		return false, err
	}
	for {
		r, err := d.api.ExecInspect(ctx, id, client.ExecInspectOptions{})
		switch {
		case err != nil:
			return false, fmt.Errorf("try from %s: %w", from.name, unavailable(err))
		case r.Running:
		case r.ExitCode == 0:
			return true, nil
		case r.ExitCode == sidecar.ExitApart:
			return false, nil
		default:
			return false, fmt.Errorf("the try from %s ended with code %d", from.name, r.ExitCode)
		}
		if err := pause(ctx, execPoll); err != nil {
			return false, err
		}
	}
}

func (d *Docker) probeLabel() string { return d.names.install + d.config.ProbeName }

// dropProbe removes everything that a probe of this installation made.
func (d *Docker) dropProbe(ctx context.Context) error {
	filter := make(client.Filters).Add("label", labelProbe+"="+d.probeLabel())
	r, err := d.api.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: filter})
	if err != nil {
		return fmt.Errorf("list probes: %w", unavailable(err))
	}
	var errs []error
	for _, c := range r.Items {
		errs = append(errs, d.removeContainer(ctx, c.ID))
	}
	networks, err := d.listNetworks(ctx, filter)
	errs = append(errs, err)
	for _, n := range networks {
		_, err := d.api.NetworkRemove(ctx, n.ID, client.NetworkRemoveOptions{})
		if err != nil && !errdefs.IsNotFound(err) {
			errs = append(errs, fmt.Errorf("remove network of a probe: %w", acted(err)))
		}
	}
	return errors.Join(errs...)
}
