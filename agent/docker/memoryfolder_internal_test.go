package docker

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/internal/testpart"
	"github.com/nullops/nullops/pipeline"
)

// Where the agent's container has no folder in memory and none can be made on the machine,
// services with secrets say what is missing and others work. Where one can be made, services
// with secrets work, and the secrets are gone with them.
func TestRunFolderMissing(t *testing.T) {
	testpart.Rotate(t)
	host, disk, id := dockertest.Host(t), t.TempDir(), uuid.NewString()
	c := Config{Host: host, Install: uuid.NewString(), DataDir: t.TempDir(),
		RunDir: dockertest.RunDir(t)}
	d := openWithoutRunFolder(t, c, disk)
	t.Cleanup(func() {
		// The agent was restarted.
		again := openWithoutRunFolder(t, c, disk, "/dev/shm")
		left, err := again.RemoveDeployment(context.WithoutCancel(t.Context()), id)
		if err != nil || len(left) > 0 {
			t.Errorf("left are %v, error %v", left, err)
		}
		folder := filepath.Join("/dev/shm", memoryFolder, d.names.short)
		if _, err := os.Stat(filepath.Join(folder, id)); err == nil {
			t.Error("the removed deployment's secrets are still there")
		}
		if err := errors.Join(os.RemoveAll(folder), d.Close(), again.Close()); err != nil {
			t.Error(err)
		}
	})
	if err := d.Prepare(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	open := agent.ServiceSpec{Deployment: id, Run: "run-1", Step: "open",
		Image: dockertest.ImportActor(t, host), Command: []string{"sleep"}}
	secret := open
	secret.Step, secret.SecretEnv = "secret", map[string]string{"TOKEN": "folder-canary"}
	secret.Ready = &pipeline.Readiness{Command: []string{"/actor", "printenv", "TOKEN"}}

	// promise: N-334
	if err := d.StartService(t.Context(), open); err != nil {
		t.Errorf("a service without secrets: %v", err)
	}
	err := d.StartService(t.Context(), secret)
	// promise: N-334
	if err == nil || !strings.Contains(err.Error(), "no folder in memory for secrets") ||
		!strings.Contains(err.Error(), "it is on a disk") {
		t.Errorf("a service with secrets, without a folder for them: %v", err)
	}
	if c := secretsCheck(hostFacts{memoryProblem: d.ensureRunFolder(t.Context())}); c.Severity !=
		"warning" || !strings.Contains(c.Remedy, "-v /run/nullops:/run/nullops") {
		t.Errorf("the check says %+v", c)
	}
	if found, err := os.ReadDir(disk); err != nil || len(found) > 0 {
		t.Errorf("on the disk are %v, %v", found, err)
	}

	d.memory.parents = append(d.memory.parents, "/dev/shm")
	d.memory.problem = nil
	if err := d.StartService(t.Context(), secret); err != nil {
		t.Fatalf("a service with secrets: %v", err)
	}
	dockertest.WaitUntil(t.Context(), t, "the service sees its secret", func() bool {
		p, err := d.Probe(t.Context(), secret)
		return err == nil && p.Health == "healthy" && p.Detail == "folder-canary"
	})
	check := secretsCheck(hostFacts{memoryProblem: d.ensureRunFolder(t.Context())})
	if check.Severity != "ok" {
		t.Errorf("the check says %+v", check)
	}
}

// openWithoutRunFolder is an agent whose container has no folder in memory, on a machine
// that may have one in one of the parents.
func openWithoutRunFolder(t *testing.T, c Config, parents ...string) *Docker {
	t.Helper()
	d, err := New(context.WithoutCancel(t.Context()), c)
	if err != nil {
		t.Fatal(err)
	}
	missing := d.hostPaths()
	missing.run, missing.hostRun, missing.runMissing = "", "", true
	d.memory.parents = parents
	d.host.Store(&missing)
	return d
}
