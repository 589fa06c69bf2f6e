package server

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane/seal"
	"github.com/nullops/nullops/internal/durable/durabletest"
)

// The install ID survives damage of each of its two files. With both damaged the agent does not
// start: it would take its own containers for a stranger's.
func TestInstallID_SurvivesDamage(t *testing.T) {
	dir := durabletest.TempDir(t)
	disk, err := durabletest.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	id, err := loadInstallID(disk, dir, log)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{installName, installCopy} {
		whole, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for what, damaged := range durabletest.Damages(whole) {
			if err := os.WriteFile(filepath.Join(dir, name), damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			if got, err := loadInstallID(disk, dir, log); err != nil || got != id {
				t.Fatalf("%s, %s: the ID is %q, %v", name, what, got, err)
			}
			if now, err := os.ReadFile(filepath.Join(dir, name)); err != nil ||
				strings.TrimSpace(string(now)) != strings.TrimSpace(string(whole)) {
				t.Fatalf("%s, %s: the file is %q, %v", name, what, now, err)
			}
		}
	}
	for _, name := range []string{installName, installCopy} {
		if err := os.Truncate(filepath.Join(dir, name), 0); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := loadInstallID(disk, dir, log); err == nil ||
		!strings.Contains(err.Error(), filepath.Join(dir, installName)) {
		t.Errorf("with both damaged the ID is %q, %v", got, err)
	}
}

// An ID that was returned is the same after a loss of power.
func TestInstallID_SurvivesPowerCuts(t *testing.T) {
	root := durabletest.TempDir(t)
	log := slog.New(slog.DiscardHandler)
	for seed := range uint64(200) {
		dir := filepath.Join(root, fmt.Sprint(seed))
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		disk, err := durabletest.New(dir)
		if err != nil {
			t.Fatal(err)
		}
		random := rand.New(rand.NewPCG(seed, 2))
		disk.CutAfter(random.IntN(14), nil)
		id, made := loadInstallID(disk, dir, log)
		if err := disk.Survive(random, dir+"-after"); err != nil {
			t.Fatal(err)
		}
		again, err := durabletest.New(dir + "-after")
		if err != nil {
			t.Fatal(err)
		}
		got, err := loadInstallID(again, dir+"-after", log)
		if err != nil || made == nil && got != id {
			t.Fatalf("seed %d: the ID was %q and is %q, %v", seed, id, got, err)
		}
	}
}

// A damaged certificate of ours is never served and never replaced, since people have pinned it;
// the error names the files.
func TestOwnCertificate_IsNotReplacedWhenDamaged(t *testing.T) {
	dir := durabletest.TempDir(t)
	h := HTTPSettings{URL: "https://nullops.example.com", TLS: "on", Data: dir}
	first, err := h.selfSignedFingerprint()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"https.crt", "https.key"} {
		path := filepath.Join(dir, name)
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for what, damaged := range durabletest.Damages(whole) {
			if err := os.WriteFile(path, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := h.selfSignedFingerprint()
			if err == nil && got != first || err != nil && !strings.Contains(err.Error(), path) {
				t.Fatalf("%s, %s: fingerprint %s, %v", name, what, got, err)
			}
		}
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if now, err := h.selfSignedFingerprint(); err != nil || now != first {
		t.Errorf("restored, it is %s, %v", now, err)
	}
}

// A damaged sealing key of the development server is never replaced by a new one, which would open
// nothing. A key with a changed bit is found by the database, see keyring.
func TestDevKey_IsNotReplacedWhenDamaged(t *testing.T) {
	dir := t.TempDir()
	key, err := devKey(dir)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "master.key")
	for what, damaged := range durabletest.Damages([]byte(key + "\n")) {
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := devKey(dir)
		if err != nil && !strings.Contains(err.Error(), path) {
			t.Fatalf("%s: %v", what, err)
		}
		if _, bad := seal.ParseKeyring(got); err == nil && bad != nil {
			t.Fatalf("%s: %v", what, bad)
		}
		if now, err := os.ReadFile(path); err != nil || string(now) != string(damaged) {
			t.Fatalf("%s: the file was changed", what)
		}
	}
}
