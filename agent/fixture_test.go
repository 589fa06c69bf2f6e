package agent_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/dummy"
	"github.com/nullops/nullops/agent/wire"
)

// journalFolder gets the fixture of the present format: when the format changes,
// raise its number, write the new folder with this, and commit both.
var journalFolder = flag.String("update-journal", "",
	"write a journal of the present format to this folder")

// A life that is interrupted: d1 is ready, d2 failed and is undone, d3 is in
// the middle of a plugin.
func liveHalf(t *testing.T, dir string) *plane {
	p := newPlane(t)
	hanging := make(chan struct{})
	r := dummy.New(dummy.Hooks{Plugin: func(ctx context.Context, s agent.PluginSpec, stdin []byte,
		line func(string)) agent.PluginResult {
		switch {
		case s.Deployment == "d2" && s.Action == "create":
			return agent.PluginResult{ExitCode: 3}
		case s.Deployment == "d3":
			close(hanging)
			<-ctx.Done()
		}
		return runMaker(ctx, s, stdin, line)
	}})
	n := p.boot(dir, r, nil)
	s := n.connect()
	p.want(s, shopGoal("d1"))
	p.untilPhase("d1", wire.PhaseReady)
	p.want(s, shopGoal("d2"))
	p.untilPhase("d2", wire.PhaseFailed)
	p.want(s, shopGoal("d3"))
	<-hanging
	n.stop()
	return p
}

// Journals of every format there ever was are opened, and what is in them is
// worked on.
//
// fault: F28
func TestNew_OpensJournalsOfEveryFormat(t *testing.T) {
	if *journalFolder != "" {
		dir := t.TempDir()
		liveHalf(t, dir)
		copyFile(t, filepath.Join(dir, "journal"), filepath.Join(*journalFolder, "journal"))
	}
	folders, err := filepath.Glob("testdata/journal/v*")
	if err != nil || len(folders) == 0 {
		t.Fatalf("fixtures: %v, %v", folders, err)
	}
	for _, folder := range folders {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			dir := t.TempDir()
			copyFile(t, filepath.Join(folder, "journal"), filepath.Join(dir, "journal"))
			p := newPlane(t)
			for _, id := range []string{"d1", "d2", "d3"} {
				p.want(nil, shopGoal(id))
			}
			r := dummy.New(dummy.Hooks{Plugin: runMaker})
			n := p.boot(dir, r, nil)
			s := n.connect()
			p.until("the welcome", func() bool { return len(p.welcome.Deployments) > 0 })
			phases := map[string]wire.Phase{}
			for _, d := range p.welcome.Deployments {
				phases[d.Deployment] = d.Phase
			}
			if phases["d1"] != wire.PhaseReady || phases["d2"] != wire.PhaseFailed {
				t.Errorf("remembered %v", phases)
			}
			p.untilPhase("d3", wire.PhaseFailed)
			p.want(s, goneGoal("d1"))
			p.untilPhase("d1", wire.PhaseRemoved)
			// d2's is undone already: the journal says so.
			// A slow machine has time to start d1's services again; that is no harm.
			ledger := slices.DeleteFunc(r.OperationLog(), func(what string) bool {
				return strings.HasPrefix(what, "start ")
			})
			if slices.Contains(ledger, "create make") || len(ledger) != 2 {
				t.Errorf("ran %v; the two that were done or started are to be undone", ledger)
			}
			checkContiguous(t, p)
		})
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
