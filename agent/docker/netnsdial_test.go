package docker_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/moby/moby/client"
	"golang.org/x/sync/errgroup"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/docker"
	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/internal/testpart"
)

// isInside reports whether a connection is one within its service's own network namespace: both
// ends have the service's address.
func isInside(c net.Conn) bool {
	own, far := c.LocalAddr().(*net.TCPAddr), c.RemoteAddr().(*net.TCPAddr)
	return own.IP.Equal(far.IP)
}

// An agent that may enters the service's network namespace, so that a connection crosses no bridge;
// also after the service was started again, in another one. One that may not asks the relay.
func TestDial_WithinTheServicesNetwork(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	r := newRig(t)
	id := r.deployment()
	s := r.service(id, "web")
	r.start(s)
	dial := func() bool {
		t.Helper()
		c, err := r.Dial(t.Context(), id, "web", 80)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		return isInside(c)
	}
	if !dial() {
		t.Error("the connection is none within the service's network namespace")
	}
	_, err := r.api.ContainerRestart(t.Context(), r.find(agent.KindService).ID,
		client.ContainerRestartOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r.awaitReady(s)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	dockertest.WaitUntil(ctx, t, "it is reached in its new namespace", dial)
	docker.HideProcesses(r.Docker, t.TempDir())
	if dial() {
		t.Error("an agent that sees no processes entered a namespace")
	}
}

// However many dial at once, all threads of the agent are in its own network namespace afterwards:
// what it opens later would be in a service's otherwise.
func TestDial_LeavesNoThreadInTheServicesNetwork(t *testing.T) {
	r := newRig(t)
	id := r.deployment()
	r.start(r.service(id, "web"))
	own, err := os.Readlink("/proc/thread-self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	var dials errgroup.Group
	for range 16 {
		dials.Go(func() error {
			for range 100 {
				c, err := r.Dial(t.Context(), id, "web", 80)
				if err != nil {
					return err
				}
				if !isInside(c) {
					t.Error("a connection is none within the service's network namespace")
				}
				_ = c.Close()
			}
			return nil
		})
	}
	if err := dials.Wait(); err != nil {
		t.Fatal(err)
	}
	threads, err := filepath.Glob("/proc/self/task/*/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		if at, err := os.Readlink(thread); err == nil && at != own {
			t.Errorf("%s is %s, not the agent's %s", thread, at, own)
		}
	}
}

// Where nothing listens, or only on a loopback address, the relay's reason is given.
func TestDial_RefusedWithinTheServicesNetwork(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.deployment()
	s := r.service(id, "web")
	s.Command, s.Ready = []string{"echo", "127.0.0.1:80"}, nil
	if err := r.StartService(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var loopback *agent.LoopbackError
	dockertest.WaitUntil(ctx, t, "the refusal says where the service listens", func() bool {
		c, err := r.Dial(ctx, id, "web", 80)
		if err == nil {
			_ = c.Close()
			t.Fatal("a service that listens on a loopback address was reached")
		}
		return errors.As(err, &loopback)
	})
	if at := loopback.Addresses.String(); at != "127.0.0.1:80" {
		t.Errorf("it says %s", at)
	}
}
