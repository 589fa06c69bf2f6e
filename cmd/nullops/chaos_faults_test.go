//go:build chaos

package main_test

import (
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent/docker/dockertest"
)

// server is a process that is started again whenever it ended, as an init system does, unless a
// fault keeps it down.
type server struct {
	name    string
	start   func() *process
	process *process
	down    bool
}

func (s *server) kill() {
	s.down = true
	s.process.kill()
}

func (s *server) signal(t *testing.T, sig syscall.Signal) {
	t.Helper()
	if err := s.process.cmd.Process.Signal(sig); err != nil && !s.process.hasEnded() {
		t.Fatalf("%s: %v", s.name, err)
	}
}

// supervise starts what ended. What ended by itself is told: it has to have a reason.
func (c *chaos) supervise() {
	for _, s := range c.servers() {
		if s.process.hasEnded() && !s.down {
			c.say("%s had ended (%s), and is started", s.name, s.process.cmd.ProcessState)
			s.process = s.start()
		}
	}
}

func (c *chaos) servers() []*server {
	return append(slices.Clone(c.planes), append(slices.Clone(c.agents), c.ingress)...)
}

// begin breaks something.
func (c *chaos) begin(t *testing.T, f fault) {
	t.Helper()
	c.say("round %d: begins: %s %d", c.round, f.kind, f.target)
	c.count("fault: " + f.victim)
	switch f.kind {
	case "kill control plane":
		c.planes[f.target].kill()
	case "freeze control plane":
		c.planes[f.target].signal(t, syscall.SIGSTOP)
	case "kill ingress":
		c.ingress.kill()
	case "kill agent":
		c.agents[f.target].kill()
	case "freeze agent":
		c.agents[f.target].signal(t, syscall.SIGSTOP)
	case "kill engine":
		c.nodes[f.target].engine.Kill()
		c.noEngine[f.target] = true
	case "freeze engine":
		c.nodes[f.target].engine.Freeze()
	case "cut link":
		c.nodes[f.target].breakLink(t, true, true)
	case "swallow what the agent sends":
		c.nodes[f.target].breakLink(t, false, true)
	case "swallow what the agent is sent":
		c.nodes[f.target].breakLink(t, true, false)
	case "fill disk of agent":
		fillDisk(t, c.nodes[f.target].ballast())
	case "remove a container", "remove a network", "remove images":
		c.removeBehindItsBack(t, f)
	case "kill database":
		c.database.Kill()
		c.noDatabase = true
	case "set clock of control plane", "set clock of agent", "set clock of database":
		off := chaosJumps[f.pick%len(chaosJumps)]
		c.say("it is set by %s", off)
		c.clocks.of(f).set(t, off)
	case "cut database":
		c.databaseLink.SetDown(true)
	default:
		c.registry.mode.Store(f.kind)
	}
}

// end repairs it.
func (c *chaos) end(t *testing.T, f fault) {
	t.Helper()
	c.say("round %d: ends: %s %d", c.round, f.kind, f.target)
	switch f.victim {
	case "control plane":
		c.resume(t, c.planes[f.target])
	case "ingress":
		c.resume(t, c.ingress)
	case "agent":
		c.resume(t, c.agents[f.target])
	case "engine":
		c.resumeEngine(f.target)
	case "link":
		c.nodes[f.target].mendLink(t)
	case "disk":
		if err := c.nodes[f.target].emptyDisk(); err != nil {
			t.Fatal(err)
		}
	case "database":
		c.databaseLink.SetDown(false)
		if c.noDatabase {
			c.database.Start()
			c.noDatabase = false
		}
	case "registry":
		c.registry.mode.Store("")
	default:
		c.clocks.of(f).set(t, 0)
	}
}

func (c *chaos) resume(t *testing.T, s *server) {
	t.Helper()
	s.down = false
	s.signal(t, syscall.SIGCONT)
	c.supervise()
}

func (c *chaos) resumeEngine(target int) {
	if c.noEngine[target] {
		c.noEngine[target] = false
		c.nodes[target].engine.Start()
		return
	}
	c.nodes[target].engine.Thaw()
}

// release lets go of everything that is held, at the end of a test that failed as well: what is
// frozen cannot be stopped.
func (c *chaos) release(t *testing.T) {
	t.Helper()
	for i, n := range c.nodes {
		if !c.noEngine[i] {
			n.engine.Thaw()
		}
		_ = n.emptyDisk()
	}
	for _, s := range c.servers() {
		if s != nil && s.process != nil {
			_ = s.process.cmd.Process.Signal(syscall.SIGCONT) // it may have ended
		}
	}
	c.registry.mode.Store("")
	c.databaseLink.SetDown(false)
}

// removeBehindItsBack does to an engine what a person at its command line may do.
func (c *chaos) removeBehindItsBack(t *testing.T, f fault) {
	t.Helper()
	api := dockertest.Client(t, c.nodes[f.target].docker)
	ours := client.Filters{}.Add("label", "nullops.install="+c.nodes[f.target].install)
	var err error
	removed := "nothing: there was none"
	switch f.kind {
	case "remove a container":
		list, listErr := api.ContainerList(c.ctx,
			client.ContainerListOptions{All: true, Filters: ours})
		if err = listErr; len(list.Items) > 0 {
			picked := list.Items[f.pick%len(list.Items)]
			removed = strings.Join(picked.Names, " ")
			_, err = api.ContainerRemove(c.ctx, picked.ID,
				client.ContainerRemoveOptions{Force: true})
		}
	case "remove a network":
		removed, err = c.cutNetwork(api, ours, f.pick)
	case "remove images":
		list, listErr := api.ImageList(c.ctx, client.ImageListOptions{})
		err, removed = listErr, ""
		for _, image := range list.Items {
			// Force takes the names, also from an image that a container uses.
			_, _ = api.ImageRemove(c.ctx, image.ID, client.ImageRemoveOptions{Force: true})
			removed += strings.Join(image.RepoTags, " ") + " "
		}
	}
	if err != nil {
		removed += " (" + err.Error() + ")"
	}
	c.say("removed %s", removed)
}

// cutNetwork takes a network from the containers on it, and removes it.
func (c *chaos) cutNetwork(api *client.Client, ours client.Filters, pick int) (string, error) {
	list, err := api.NetworkList(c.ctx, client.NetworkListOptions{Filters: ours})
	if err != nil || len(list.Items) == 0 {
		return "nothing: there was none", err
	}
	picked := list.Items[pick%len(list.Items)]
	seen, err := api.NetworkInspect(c.ctx, picked.ID, client.NetworkInspectOptions{})
	if err != nil {
		return picked.Name, err
	}
	for id := range seen.Network.Containers {
		_, err := api.NetworkDisconnect(c.ctx, picked.ID,
			client.NetworkDisconnectOptions{Container: id, Force: true})
		if err != nil {
			return picked.Name, err
		}
	}
	_, err = api.NetworkRemove(c.ctx, picked.ID, client.NetworkRemoveOptions{})
	return picked.Name, err
}
