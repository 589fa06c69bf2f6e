package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

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

// Prepare makes the deployment's network and relay, and waits until the relay listens.
func (d *Docker) Prepare(ctx context.Context, deployment string) error {
	if err := checkNames(deployment); err != nil {
		return err
	}
	if err := d.ensureNetwork(ctx, deployment); err != nil {
		return err
	}
	if err := d.ensureRelayImage(ctx); err != nil {
		return err
	}
	if err := d.makeRelayDir(deployment); err != nil {
		return err
	}
	spec := d.relayContainer(deployment)
	if err := d.ensureRunning(ctx, spec, true); err != nil {
		return fmt.Errorf("relay of deployment %s: %w", deployment, err)
	}
	if err := d.awaitRelay(ctx, deployment); err != nil {
		return err
	}
	return d.removeOldRelayDir(deployment)
}

func (d *Docker) relayImage() string { return "nullops-sidecar:" + d.sidecar.hash }

func (d *Docker) relayDir(deployment string) string {
	return filepath.Join(d.relaysDir(), d.names.short+"-"+deployment)
}

func (d *Docker) relaySocket(deployment string) string {
	return filepath.Join(d.relayDir(deployment), "relay.sock")
}

// makeRelayDir creates the relay's folder. An agent that is not root cannot change its owner; then
// the folder above it, which only the agent can enter, must protect it.
func (d *Docker) makeRelayDir(deployment string) error {
	dir := d.relayDir(deployment)
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
func (d *Docker) relayContainer(deployment string) containerSpec {
	one := int64(relayPids)
	config := &container.Config{
		// It has no host name of its own: the engine's DNS would answer to it on the
		// deployment's network, where a service may be called the same.
		Image: d.relayImage(),
		User:  fmt.Sprintf("%d:%d", relayUser, relayUser),
		Env:   []string{relayHeap, "GOMAXPROCS=2"},
		Cmd:   []string{"relay", "/relay/relay.sock"},
	}
	host := &container.HostConfig{
		NetworkMode:    container.NetworkMode(d.names.networkName(deployment)),
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
			Type: mount.TypeBind, Source: d.hostPaths().toHost(d.relayDir(deployment)), Target: "/relay",
		}},
	}
	return containerSpec{
		name: d.names.relayName(deployment), oldName: d.names.oldRelayName(deployment),
		kind: agent.KindRelay, deployment: deployment,
		config: config, host: host, network: d.names.networkName(deployment),
	}
}

// ensureRelayImage imports an image that holds the sidecar alone. Its tag is
// the binary's hash, so that it is never stale.
func (d *Docker) ensureRelayImage(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, mutationTimeout)
	defer cancel()
	_, err := d.api.ImageInspect(ctx, d.relayImage())
	if err == nil || !errdefs.IsNotFound(err) {
		return wrapUnavailable(err)
	}
	archive, err := d.relayArchive()
	if err != nil {
		return fmt.Errorf("pack relay image: %w", err)
	}
	r, err := d.api.ImageImport(ctx,
		client.ImageImportSource{Source: archive, SourceName: "-"}, d.relayImage(),
		client.ImageImportOptions{Changes: []string{
			`ENTRYPOINT ["/sidecar"]`, fmt.Sprintf("USER %d:%d", relayUser, relayUser),
		}})
	if err != nil {
		return fmt.Errorf("import relay image: %w", wrapMutationErr(err))
	}
	_, err = io.Copy(io.Discard, r)
	if err = errors.Join(err, r.Close()); err != nil {
		return fmt.Errorf("import relay image: %w", wrapMutationErr(err))
	}
	return nil
}

func (d *Docker) relayArchive() (io.Reader, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	helper, err := d.sidecar.readBinary()
	if err != nil {
		return nil, err
	}
	h := &tar.Header{Name: "sidecar", Mode: 0o555, Size: int64(len(helper))}
	if err := w.WriteHeader(h); err != nil {
		return nil, err
	}
	if _, err := w.Write(helper); err != nil {
		return nil, err
	}
	dir := &tar.Header{Name: "relay/", Mode: 0o755, Typeflag: tar.TypeDir}
	if err := w.WriteHeader(dir); err != nil {
		return nil, err
	}
	return &b, w.Close()
}

// awaitRelay waits until the relay answers, by asking for a target that it must refuse.
func (d *Docker) awaitRelay(ctx context.Context, deployment string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, relayReadyTimeout,
		fmt.Errorf("not listening within %s", relayReadyTimeout))
	defer cancel()
	for {
		_, err := sidecar.Dial(ctx, d.relaySocket(deployment), "localhost", 1)
		if _, answered := errors.AsType[*sidecar.DialError](err); answered {
			return nil
		}
		if err := wait.Sleep(ctx, relayPollInterval); err != nil {
			return fmt.Errorf("relay of deployment %s: %w", deployment, err)
		}
	}
}

// Dial connects to a service's port through the deployment's relay. The caller checks that the
// service declares the port.
func (d *Docker) Dial(
	ctx context.Context, deployment string, service pipeline.StepKey, port int,
) (net.Conn, error) {
	if err := checkNames(deployment, string(service)); err != nil {
		return nil, err
	}
	conn, err := sidecar.Dial(ctx, d.findRelaySocket(deployment), string(service), port)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("deployment %s has no relay: %w", deployment, agent.ErrNotFound)
	}
	if err != nil {
		err = d.explainRefusal(ctx, deployment, service, err)
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
