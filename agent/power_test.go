package agent_test

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/dummy"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/internal/durable/durabletest"
	"github.com/nullops/nullops/internal/testpart"
)

// The machine loses its power at a random operation of the agent's disk, and the agent starts again
// on what was synced. The plugin, which may not run twice, does not: its start was on disk before.
// Nothing is left in the end, and no event is lost or doubled.
//
// fault: F22
func TestAgent_SurvivesPowerCuts(t *testing.T) {
	testpart.Rotate(t)
	const cuts = 24
	for seed := range uint64(cuts) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			cutPower(t, rand.New(rand.NewPCG(seed, 3)))
		})
	}
}

func cutPower(t *testing.T, random *rand.Rand) {
	p := newPlane(t)
	r := dummy.New(dummy.Hooks{Plugin: runMaker})
	dir := durabletest.TempDir(t)
	disk, err := durabletest.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	off := make(chan struct{})
	n := p.bootWith(agent.Config{Data: dir, Disk: disk}, r)
	disk.CutAfter(random.IntN(60), func() {
		n.cancel()
		close(off)
	})
	s, err := n.tryConnect()
	if err != nil && !disk.IsOff() {
		t.Fatal(err)
	}
	p.want(s, shopGoal("d1"))
	if waitFor(p, off, "d1", wire.PhaseReady) {
		p.want(s, goneGoal("d1"))
		waitFor(p, off, "d1", wire.PhaseRemoved)
	}
	n.cancel()
	<-n.done
	close(n.done)
	after := filepath.Join(durabletest.TempDir(t), "after")
	if err := disk.Survive(random, after); err != nil {
		t.Fatal(err)
	}
	told := &said{}
	n = p.bootWith(agent.Config{Data: after, Disk: diskOf(t, after),
		Log: slog.New(slog.NewTextHandler(told, nil))}, r)
	s = n.connect()
	p.until("an end", func() bool {
		phase := p.phase("d1")
		return slices.Contains([]wire.Phase{wire.PhaseReady, wire.PhaseFailed, wire.PhaseRemoved}, phase)
	})
	p.want(s, goneGoal("d1"))
	p.untilPhase("d1", wire.PhaseRemoved)
	n.stop()
	if left := listObjects(t, r); len(left) > 0 || strings.Contains(told.String(), "damage") {
		t.Errorf("left %v, log %s", left, told.String())
	}
	checkContiguous(t, p)
	checkOnce(t, r)
}

func diskOf(t *testing.T, dir string) *durabletest.Disk {
	t.Helper()
	disk, err := durabletest.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	return disk
}

// Every file of the data folder is damaged in every way. The agent then refuses to start and names
// the file, or says which one is damaged, or reads the same as before. A file that this test does
// not know fails it.
func TestNew_NamesEveryDamagedFile(t *testing.T) {
	testpart.Rotate(t)
	dir := t.TempDir()
	p := liveHalf(t, dir)
	known := []string{"cert.pem", "images.json", "journal", "journal.mark", "key.pem", "lock",
		"state.json"}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name := e.Name()
		if !slices.Contains(known, name) {
			t.Errorf("the agent writes %s, and no test damages it", name)
		}
		if name == "lock" { // it has no content
			continue
		}
		whole, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			tried := 0
			for what, damaged := range durabletest.Damages(whole) {
				if tried++; len(whole) > 130 && tried%(len(whole)/40) > 0 && tried < 3*len(whole) {
					continue // classes of offsets, not each
				}
				openDamaged(t, p, dir, name, what, damaged)
			}
		})
	}
}

// openDamaged starts an agent on a copy of a folder with one damaged file.
func openDamaged(t *testing.T, p *plane, from, name, what string, damaged []byte) {
	t.Helper()
	dir, err := os.MkdirTemp(durabletest.TempDir(t), "")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		copyFile(t, filepath.Join(from, e.Name()), filepath.Join(dir, e.Name()))
	}
	if err := os.WriteFile(filepath.Join(dir, name), damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	told := &said{}
	a, err := agent.New(agent.Config{Data: dir, Disk: diskOf(t, dir), Token: &p.token, Build: "dev",
		Log: slog.New(slog.NewTextHandler(told, nil))}, dummy.New(dummy.Hooks{}))
	if err != nil {
		if !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: the error does not name the file: %v", what, err)
		}
		return
	}
	defer func() { _ = a.Close() }()
	whole, err := os.ReadFile(filepath.Join(from, name))
	if err != nil {
		t.Fatal(err)
	}
	longer := strings.HasPrefix(string(damaged), string(whole))
	if strings.HasSuffix(name, ".pem") { // an identity has no log: it is the same, or refused
		before, err := wire.LoadOrCreateIdentity(from)
		if err != nil || a.Thumbprint() != before.Thumbprint() {
			t.Errorf("%s: another certificate is used, %v", what, err)
		}
		return
	}
	if name == "journal" && longer {
		return // an append that was cut off: all that counts is read
	}
	if !strings.Contains(told.String(), filepath.Join(dir, name)) {
		t.Errorf("%s: nobody was told: %s", what, told.String())
	}
}
