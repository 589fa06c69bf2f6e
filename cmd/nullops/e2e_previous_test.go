package main_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/nullops/nullops/internal/previoustest"
)

// buildPrevious returns the program of the previous release, which is built from its commit. It
// is kept in .cache, by commit. A shallow clone may lack the commit: the story is then told with
// today's source under another version, and says so. The fixtures that the previous release wrote
// are upgraded in any case.
func (w *world) buildPrevious(t *testing.T) string {
	t.Helper()
	commit := previoustest.ReadRelease(t).Commit
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "git", "-C", root, "cat-file", "-e",
		commit+"^{commit}").CombinedOutput(); err != nil {
		t.Logf("ATTENTION: this clone lacks the commit of the previous release, so the story upgrades "+
			"today's source under another version; fetch %s to upgrade from it: %v: %s", commit, err, out)
		return w.build(t, previousBuild)
	}
	kept := filepath.Join(root, ".cache", "previous", commit)
	if _, err := os.Stat(kept); err == nil {
		return kept
	}
	if err := os.MkdirAll(filepath.Dir(kept), 0o755); err != nil {
		t.Fatal(err)
	}
	source := t.TempDir()
	runTool(t, root, "sh", "-c", `git archive "$1" | tar x -C "$2"`, "-", commit, source)
	build := []string{"env", "CGO_ENABLED=0", "go", "build", "-trimpath", "-buildvcs=false",
		"-ldflags"}
	runTool(t, source, append(build, "-s -w", "-o", "agent/docker/bin/sidecar", "./cmd/sidecar")...)
	runTool(t, source, append(build, "-s -w -X main.build="+previousBuild, "-o", kept+".new",
		"./cmd/nullops")...)
	if err := os.Rename(kept+".new", kept); err != nil {
		t.Fatal(err)
	}
	return kept
}

// previousBuild is the version that the program of the previous release says it has.
const previousBuild = "e2e-previous"

// runTool runs a command that has to work.
func runTool(t *testing.T, dir string, args ...string) []byte {
	t.Helper()
	c := exec.CommandContext(t.Context(), args[0], args[1:]...)
	c.Dir = dir
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v: %v: %s", args, err, errs.String())
	}
	return out
}

// recordFixtures has the previous release write what it leaves behind: the database as PostgreSQL
// dumps it, a backup, the agents' folders, and its definitions.
func (u *upgraded) recordFixtures(t *testing.T) {
	t.Helper()
	states := map[string]string{}
	for name, d := range u.made {
		states[name] = string(d.Status)
	}
	made, err := json.MarshalIndent(states, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"backup":             []byte(u.serves(t, "backup")),
		"database.sql.gz":    u.dump(t),
		"agent-boxed.tar.gz": previoustest.Archive(t, u.boxed.data),
		"agent-plain.tar.gz": previoustest.Archive(t, u.plain.data),
		"export.yaml":        []byte(u.does(t, "export")),
		"key":                []byte(u.key + "\n"),
		"states.json":        append(made, '\n'),
	} {
		previoustest.Record(t, name, data)
	}
}
