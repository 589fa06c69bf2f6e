package docker_test

import (
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
	"golang.org/x/sync/errgroup"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/docker"
	"github.com/nullops/nullops/internal/testpart"
)

// Inside a deployment, services find each other by step key; a second
// deployment finds nobody, by name or by address; both reach the outside.
//
// threat: T25
func TestNetwork_IsolatesDeployments(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.guard()
	a, b := r.deployment(), r.deployment()
	r.start(r.service(a, "web"))
	r.start(r.service(a, "db"))
	r.start(r.service(b, "spy"))
	// promise: N-172
	if got := r.get(a, "web", "/dial?to=db:80"); !strings.HasPrefix(got, "connected") {
		t.Errorf("a sibling by name: %s", got)
	}
	// promise: N-170
	// promise: N-171
	for _, target := range append(r.addresses(a), "web", "db") {
		got := r.get(b, "spy", "/dial?to="+target+":80")
		if !strings.HasPrefix(got, "error") {
			t.Errorf("from the other deployment to %s: %s", target, got)
		}
	}
	// promise: N-176
	outside := r.listenOutside()
	if got := r.get(b, "spy", "/dial?to="+outside); !strings.HasPrefix(got, "connected") {
		t.Errorf("to the outside at %s: %s", outside, got)
	}
}

// Among many deployments nobody reaches anybody else, everybody reaches itself,
// and no network stays when all are gone. 'make test-crowd' does the same with two
// hundred, through the control plane.
func TestNetwork_EachOfManyIsApart(t *testing.T) {
	testpart.Rotate(t)
	r := newRig(t)
	r.guard()
	const many = 6
	ids, at := make([]string, many), make([]string, many)
	var making errgroup.Group
	making.SetLimit(3)
	for i := range ids {
		ids[i] = uuid.NewString()
		making.Go(func() error {
			if err := r.Prepare(t.Context(), ids[i]); err != nil {
				return err
			}
			return r.StartService(t.Context(), r.service(ids[i], "web"))
		})
	}
	if err := making.Wait(); err != nil {
		t.Fatal(err)
	}
	for i, id := range ids {
		r.awaitReady(r.service(id, "web"))
		at[i] = r.addresses(id)[0]
	}
	var trying errgroup.Group
	for from := range ids {
		for to := range ids {
			trying.Go(func() error {
				got, err := r.tryGet(ids[from], "web", "/dial?to="+at[to]+":80")
				if reached := strings.HasPrefix(got, "connected"); reached != (from == to) {
					t.Errorf("from deployment %d to %d: %s", from, to, got)
				}
				return err
			})
		}
	}
	if err := trying.Wait(); err != nil {
		t.Error(err)
	}
	for _, id := range ids {
		if left, err := r.RemoveDeployment(t.Context(), id); err != nil || len(left) > 0 {
			t.Errorf("left %v, error %v", left, err)
		}
	}
	r.expectKinds()
}

// addresses are those of a deployment's services.
// guard sets the rules of an agent on the machine. The engine's alone are out for a moment whenever
// any test makes a network.
func (r *rig) guard() {
	r.t.Helper()
	r.Docker = r.openWith(func(c *docker.Config) { c.Guard = &docker.Guard{} })
	if _, err := r.Inventory(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) addresses(deployment string) []string {
	r.t.Helper()
	containers, err := r.api.ContainerList(r.t.Context(), client.ContainerListOptions{
		Filters: make(client.Filters).Add("label", "nullops.deployment="+deployment).
			Add("label", "nullops.kind=service"),
	})
	if err != nil {
		r.t.Fatal(err)
	}
	var all []string
	for _, c := range containers.Items {
		for _, n := range c.NetworkSettings.Networks {
			all = append(all, n.IPAddress.String())
		}
	}
	if len(all) == 0 {
		r.t.Fatal("no addresses")
	}
	return all
}

// listenOutside accepts connections on an address of this machine that is on
// no container's network: what an external API is for a deployment.
func (r *rig) listenOutside() string {
	r.t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		r.t.Fatal(err)
	}
	for _, a := range all {
		p, err := netip.ParsePrefix(a.String())
		if err != nil || !p.Addr().Is4() || p.Addr().IsLoopback() ||
			strings.HasPrefix(a.String(), "10.") || strings.HasPrefix(a.String(), "172.") {
			continue
		}
		l, err := net.Listen("tcp", net.JoinHostPort(p.Addr().String(), "0"))
		if err != nil {
			continue
		}
		r.t.Cleanup(func() { _ = l.Close() })
		return l.Addr().String()
	}
	r.t.Skip("this machine has no address of its own")
	return ""
}

// The engine's own pools end at about 30 networks; ours do not.
func TestNetwork_FortyDeploymentsSideBySide(t *testing.T) {
	testpart.Rotate(t)
	r := newRig(t)
	var g errgroup.Group
	g.SetLimit(4)
	for range 40 {
		g.Go(func() error { return r.Prepare(t.Context(), uuid.NewString()) })
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	list, err := r.api.NetworkList(t.Context(), client.NetworkListOptions{
		Filters: make(client.Filters).Add("label", "nullops.install="+r.install),
	})
	if err != nil || len(list.Items) != 40 {
		t.Fatalf("%d networks, error %v", len(list.Items), err)
	}
	seen := map[netip.Prefix]bool{}
	for _, n := range list.Items {
		subnet := n.IPAM.Config[0].Subnet
		if seen[subnet] || subnet.Bits() != 26 {
			t.Errorf("subnet %s", subnet)
		}
		seen[subnet] = true
	}
}

// A range that is used up is a clear error, and changes nothing.
//
// fault: F43
func TestNetwork_RangeUsedUp(t *testing.T) {
	testpart.Rotate(t)
	r := newRig(t)
	d, err := docker.New(t.Context(), docker.Config{
		Host: r.host, Install: r.install, DataDir: r.dataDir, RunDir: r.runDir,
		SubnetRange: netip.MustParsePrefix("10.214.7.0/28"), SubnetBits: 29,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	for range 2 {
		if err := d.Prepare(t.Context(), uuid.NewString()); err != nil {
			t.Fatal(err)
		}
	}
	err = d.Prepare(t.Context(), uuid.NewString())
	if err == nil || !strings.Contains(err.Error(), "no free subnet is left in 10.214.7.0/28") {
		t.Errorf("error is %v", err)
	}
	r.expectKinds(agent.KindRelay, agent.KindRelay, agent.KindNetwork, agent.KindNetwork)
}

// A stranger on our network, and an endpoint that the engine will not let go
// by itself, do not keep a deployment from being removed.
//
// fault: F42
func TestRemoveDeployment_WithStrangersEndpoint(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	r := newRig(t)
	id := r.deployment()
	r.start(r.service(id, "web"))
	network := r.find(agent.KindNetwork)
	stranger, err := r.api.ContainerCreate(t.Context(), client.ContainerCreateOptions{
		Image:      r.image.Repository + ":" + r.image.Tag,
		HostConfig: &container.HostConfig{NetworkMode: container.NetworkMode(network.Name)},
		Config:     &container.Config{Cmd: []string{"sleep"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_, _ = r.api.ContainerRemove(t.Context(), stranger.ID,
			client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	}()
	if _, err := r.api.ContainerStart(t.Context(), stranger.ID,
		client.ContainerStartOptions{}); err != nil {
		t.Fatal(err)
	}
	left, err := r.RemoveDeployment(t.Context(), id)
	if err != nil || len(left) > 0 {
		t.Errorf("left %v, error %v", left, err)
	}
	if _, err := r.api.ContainerInspect(t.Context(), stranger.ID,
		client.ContainerInspectOptions{}); err != nil {
		t.Errorf("the stranger's container: %v", err)
	}
}

// Removal returns every object a chance although the caller is in a hurry, and two at once do not
// trip over each other.
func TestRemoveDeployment_TwiceAtOnce(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	r := newRig(t)
	id := r.deployment()
	r.start(r.service(id, "web"))
	var g errgroup.Group
	for range 2 {
		g.Go(func() error {
			_, err := r.RemoveDeployment(t.Context(), id)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
	r.expectKinds()
}

// Changes hints at a container that ended by itself.
func TestChanges_HintsAtAnEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.deployment()
	r.start(r.service(id, "web"))
	hints := r.WatchChanges(t.Context())
	<-hints // The first one says that watching began.
	_, err := r.api.ContainerKill(t.Context(), r.find(agent.KindService).ID,
		client.ContainerKillOptions{Signal: "SIGKILL"})
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-hints:
	case <-time.After(20 * time.Second):
		t.Error("no hint")
	}
}
