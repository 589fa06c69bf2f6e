package agent_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/nullops/nullops/agent/dummy"
	"github.com/nullops/nullops/agent/wire"
)

// lastPluginState returns the last reported state of a plugin. The lock is held.
func (p *plane) lastPluginState(name string) (held wire.HeldPlugin) {
	for _, h := range p.inventory.Plugins {
		if h.Name == name {
			held = h
		}
	}
	return held
}

func tellPlugins(t *testing.T, s *wire.Session, names ...string) {
	t.Helper()
	var list wire.Plugins
	for _, name := range names {
		list.Images = append(list.Images, wire.PluginImage{Name: name, Image: *imageOf(name)})
	}
	if err := s.Send(context.Background(), list); err != nil {
		t.Fatal(err)
	}
}

// A list of plugins that is sent over the link makes the node pull their images before any run
// needs them, with the control plane's credentials; the state of each is reported. The list
// survives a restart.
func TestAgent_PullsPluginsAheadAndTellsThem(t *testing.T) {
	p := newPlane(t)
	var broken atomic.Bool
	broken.Store(true)
	r := dummy.New(dummy.Hooks{Fail: func(op, subject string) error {
		if op == "pull" && subject == "mailer" && broken.Load() {
			return errors.New("manifest unknown")
		}
		return nil
	}})
	dir := t.TempDir()
	n := p.boot(dir, r, nil)
	s := n.connect()
	tellPlugins(t, s, "database", "mailer")
	p.until("both plugins' states", func() bool {
		// promise: N-069
		return p.lastPluginState("database").State == wire.PluginHere &&
			p.lastPluginState("mailer").State == wire.PluginFailed
	})
	if here, err := r.HasImage(t.Context(), *imageOf("database")); err != nil || !here {
		t.Errorf("the database plugin's image is on the node: %t, %v", here, err)
	}
	p.mu.Lock()
	if why := p.lastPluginState("mailer").Detail; why == "" || p.signIns == 0 {
		t.Errorf("the failure says %q, and %d sign-ins were asked for", why, p.signIns)
	}
	p.mu.Unlock()
	// The list changes while the agent runs.
	broken.Store(false)
	tellPlugins(t, s, "mailer", "queue")
	p.until("the new list", func() bool {
		return p.lastPluginState("mailer").State == wire.PluginHere &&
			p.lastPluginState("queue").State == wire.PluginHere && p.lastPluginState("database").Name == ""
	})
	n.stop()
	again := p.boot(dir, r, nil)
	if all := again.agent.Plugins(); len(all) != 2 {
		t.Errorf("after a restart the agent knows %v", all)
	}
}
