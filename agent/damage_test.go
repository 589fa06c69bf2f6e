package agent_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/dummy"
)

func journalOf(dir string) string { return filepath.Join(dir, "journal") }

func removeFiles(t *testing.T, dir string) {
	if err := os.Remove(journalOf(dir)); err != nil {
		t.Fatal(err)
	}
}

func emptyFiles(t *testing.T, dir string) {
	if err := os.Truncate(journalOf(dir), 0); err != nil {
		t.Fatal(err)
	}
}

// flipBit turns one bit in the middle.
func flipBit(t *testing.T, dir string) {
	data, err := os.ReadFile(journalOf(dir))
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 4
	if err := os.WriteFile(journalOf(dir), data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// wipeState takes the state too, but not the certificate.
func wipeState(t *testing.T, dir string) {
	removeFiles(t, dir)
	if err := os.Remove(filepath.Join(dir, "state.json")); err != nil {
		t.Fatal(err)
	}
}

func TestNew_RefusesAJournalFromANewerRelease(t *testing.T) {
	p := newPlane(t)
	dir := t.TempDir()
	err := os.WriteFile(journalOf(dir), []byte("nullops-journal 2\nwhatever"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	_, err = agent.New(agent.Config{Data: dir, Token: &p.token, Build: "dev"},
		dummy.New(dummy.Hooks{}))
	if !errors.Is(err, agent.ErrNewerJournal) {
		t.Errorf("got %v", err)
	}
}

func TestNew_RefusesToStartWithoutAToken(t *testing.T) {
	_, err := agent.New(agent.Config{Data: t.TempDir(), Build: "dev"}, dummy.New(dummy.Hooks{}))
	if err == nil {
		t.Error("an agent that nobody can talk to was started")
	}
}
