package docker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/api/types/network"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/sidecar"
	"github.com/nullops/nullops/internal/wait"
	"github.com/nullops/nullops/pipeline"
)

const (
	// relayUser is a user ID that no image uses; the relay's folder belongs to it.
	relayUser = 65532
	// relayMemory is a hard limit in bytes: an idle relay needs less than 5 MiB. It is higher
	// because cgroup v2 charges the buffers of the sockets that a relay opened to the relay for as
	// long as they are open.
	relayMemory = 64 << 20
	// relayHeap makes Go collect garbage long before relayMemory is reached.
	relayHeap         = "GOMEMLIMIT=12MiB"
	relayPids         = 64
	relayReadyTimeout = 10 * time.Second
	relayPollInterval = 5 * time.Millisecond
)

// relays keeps the network and the relay of each deployment, and connects through it.
type relays struct {
	*containers
	networks  *networks
	helper    *helperImage
	loopbacks *loopbacks
	inside    *netnsDialer
}

// Prepare makes the deployment's network and relay, and waits until the relay listens.
func (rl *relays) Prepare(ctx context.Context, deployment string) error {
	return rl.prepareRelay(ctx, deployment, false)
}

// PrepareWithMail is Prepare for a deployment whose relay takes mails under the name mail.
func (rl *relays) PrepareWithMail(ctx context.Context, deployment string) error {
	return rl.prepareRelay(ctx, deployment, true)
}

// AcceptMail waits for the next connection to the mail port of a deployment's relay.
func (rl *relays) AcceptMail(ctx context.Context, deployment string) (net.Conn, error) {
	if err := checkNames(deployment); err != nil {
		return nil, err
	}
	conn, err := sidecar.AcceptMail(ctx, rl.findRelaySocket(deployment))
	switch {
	case errors.Is(err, sidecar.ErrNoMailPort):
		return nil, agent.ErrNoMailPort
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("deployment %s has no relay: %w", deployment, agent.ErrNotFound)
	case err != nil:
		return nil, fmt.Errorf("mails of deployment %s: %w", deployment, err)
	}
	return conn, nil
}

func (rl *relays) prepareRelay(ctx context.Context, deployment string, mail bool) error {
	if err := checkNames(deployment); err != nil {
		return err
	}
	if err := rl.networks.ensureNetwork(ctx, deployment); err != nil {
		return err
	}
	if err := rl.helper.ensureRelayImage(ctx); err != nil {
		return err
	}
	if err := rl.makeRelayDir(deployment); err != nil {
		return err
	}
	spec := rl.relayContainer(deployment)
	if mail {
		spec.alias = agent.MailHost
		spec.config.Cmd = append(spec.config.Cmd, strconv.Itoa(agent.MailPort))
	}
	if err := rl.ensureRunning(ctx, spec, true); err != nil {
		return fmt.Errorf("relay of deployment %s: %w", deployment, err)
	}
	if err := rl.awaitRelay(ctx, deployment); err != nil {
		return err
	}
	return rl.removeOldRelayDir(deployment)
}

func (rl *relays) relaysDir() string { return filepath.Join(rl.config.DataDir, "relays") }

func (rl *relays) relayDir(deployment string) string {
	return filepath.Join(rl.relaysDir(), rl.names.short+"-"+deployment)
}

func (rl *relays) relaySocket(deployment string) string {
	return filepath.Join(rl.relayDir(deployment), "relay.sock")
}

// makeRelayDir creates the relay's folder. An agent that is not root cannot change its owner; then
// the folder above it, which only the agent can enter, must protect it.
func (rl *relays) makeRelayDir(deployment string) error {
	dir := rl.relayDir(deployment)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make relay folder: %w", err)
	}
	err := os.Chown(dir, relayUser, relayUser)
	if errors.Is(err, os.ErrPermission) {
		err = os.Chmod(dir, 0o777)
	}
	if err != nil {
		return fmt.Errorf("make relay folder: %w", err)
	}
	return nil
}

// relayContainer describes the relay. Its DNS server is a port without a listener, so that names
// outside the deployment's network fail at once.
func (rl *relays) relayContainer(deployment string) containerSpec {
	one := int64(relayPids)
	config := &container.Config{
		// It has no host name of its own: the engine's DNS would answer to it on the
		// deployment's network, where a service may be called the same.
		Image: rl.helper.relayImage(),
		User:  fmt.Sprintf("%d:%d", relayUser, relayUser),
		Env:   []string{relayHeap, "GOMAXPROCS=2"},
		Cmd:   []string{"relay", "/relay/relay.sock"},
	}
	host := &container.HostConfig{
		NetworkMode:    container.NetworkMode(rl.names.networkName(deployment)),
		LogConfig:      serviceLogs(),
		RestartPolicy:  container.RestartPolicy{Name: container.RestartPolicyAlways},
		ReadonlyRootfs: true,
		CapDrop:        []string{"ALL"},
		SecurityOpt:    []string{"no-new-privileges"},
		DNS:            []netip.Addr{netip.MustParseAddr("127.0.0.1")},
		DNSSearch:      []string{"."},
		Resources: container.Resources{
			Memory: relayMemory, MemorySwap: relayMemory, PidsLimit: &one,
			NanoCPUs: 1e9, Ulimits: noCoreDumps(),
		},
		Mounts: []mount.Mount{{
			Type: mount.TypeBind, Source: rl.hostPaths().toHost(rl.relayDir(deployment)), Target: "/relay",
		}},
	}
	return containerSpec{
		name: rl.names.relayName(deployment), oldName: rl.names.oldRelayName(deployment),
		kind: agent.KindRelay, deployment: deployment,
		config: config, host: host, network: rl.names.networkName(deployment),
	}
}

// awaitRelay waits until the relay answers, by asking for a target that it must refuse.
func (rl *relays) awaitRelay(ctx context.Context, deployment string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, relayReadyTimeout,
		fmt.Errorf("not listening within %s", relayReadyTimeout))
	defer cancel()
	for {
		_, err := sidecar.Dial(ctx, rl.relaySocket(deployment), "localhost", 1)
		if _, answered := errors.AsType[*sidecar.DialError](err); answered {
			return nil
		}
		if err := wait.Sleep(ctx, relayPollInterval); err != nil {
			return fmt.Errorf("relay of deployment %s: %w", deployment, err)
		}
	}
}

// Dial connects to a service's port from within its network namespace or, where that is not
// possible, through the deployment's relay. The caller checks that the service declares the port.
func (rl *relays) Dial(
	ctx context.Context, deployment string, service pipeline.StepKey, port int,
) (net.Conn, error) {
	if err := checkNames(deployment, string(service)); err != nil {
		return nil, err
	}
	if conn, err := rl.inside.dialInside(ctx, deployment, service, port); err == nil {
		return conn, nil
	}
	return rl.dialRelay(ctx, deployment, service, port)
}

// dialRelay connects to a service's port as other services of the deployment do: from outside it.
func (rl *relays) dialRelay(
	ctx context.Context, deployment string, service pipeline.StepKey, port int,
) (net.Conn, error) {
	if err := checkNames(deployment, string(service)); err != nil {
		return nil, err
	}
	conn, err := sidecar.Dial(ctx, rl.findRelaySocket(deployment), string(service), port)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("deployment %s has no relay: %w", deployment, agent.ErrNotFound)
	}
	if err != nil {
		err = rl.loopbacks.explainRefusal(ctx, deployment, service, err)
		return nil, fmt.Errorf("service %s of deployment %s: %w", service, deployment, err)
	}
	return conn, nil
}

// endpointConfig puts a container on the deployment's network, found by its step key
// if it has one.
func endpointConfig(name, alias string) *network.NetworkingConfig {
	if name == "" {
		return nil
	}
	e := &network.EndpointSettings{}
	if alias != "" {
		e.Aliases = []string{alias}
	}
	return &network.NetworkingConfig{
		EndpointsConfig: map[string]*network.EndpointSettings{name: e},
	}
}

// learnAddress makes the relay look up the address of a service that no probe connects to, so that
// it knows it when the engine is down. A failure is only logged.
func (rl *relays) learnAddress(ctx context.Context, s agent.ServiceSpec) {
	if len(s.Ports) == 0 || s.Ready != nil && (s.Ready.HTTP != nil || s.Ready.TCP != nil) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	err := sidecar.LookupService(ctx, rl.findRelaySocket(s.Deployment), string(s.Step))
	if err != nil {
		rl.log.DebugContext(ctx, "a service's address is not known to its relay",
			"deployment_id", s.Deployment, "step", string(s.Step), "error", err)
	}
}
