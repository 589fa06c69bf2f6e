//go:build kubernetes

package kubernetes_test

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nullops/nullops/agent/kubernetes/clustertest"
	"github.com/nullops/nullops/agent/sidecar"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// The probe tells a cluster that enforces network policies from one that only stores them. This
// node's network plugin is of the second kind; rules of the kernel that follow from the same
// objects (tools/kubernetes/policies.go) make it one of the first. It runs alone: the rules are for
// every pod.
func TestProbeIsolation_TellsWhetherPoliciesAreEnforced(t *testing.T) {
	r := newRig(t)
	metadata := serveMetadata(t)
	deployment := r.newDeployment()
	r.start(r.echoService(deployment, "web"))
	if !r.reachesFrom(deployment, "web", metadata) {
		t.Error("positive control: without enforcement, the metadata service is not reached")
	}
	// promise: K-04
	if c := r.ProbeIsolation(t.Context()); c.Severity != wire.SeverityCritical ||
		!strings.Contains(c.Detail, "the API server") || !strings.Contains(c.Remedy, "Calico") {
		t.Errorf("without enforcement, it says %+v", c)
	}
	clustertest.EnforcePolicies(t)
	// promise: K-04
	if c := r.ProbeIsolation(t.Context()); c.Severity != wire.SeverityOK {
		t.Errorf("with enforcement, it says %+v", c)
	}
	for _, n := range newAdmin(t).list("/api/v1/namespaces").Items {
		if n.Metadata.Labels["nullops.probe"] == r.config.Install {
			t.Errorf("it leaves the namespace %s", n.Metadata.Name)
		}
	}
	// promise: K-04
	if r.reachesFrom(deployment, "web", metadata) {
		t.Error("with enforcement, a service reaches the metadata service")
	}
	// Services work under the same rules.
	deployment = r.newDeployment()
	r.start(r.echoService(deployment, "web"))
	newAdmin(t).mustDo(http.MethodGet, "/api/v1/namespaces/"+r.namespaceOf(deployment)+
		"/services/web", "")
}

// serveMetadata has the machine answer under the address at which clouds tell machines their
// credentials.
func serveMetadata(t *testing.T) (address string) {
	t.Helper()
	space := os.Getenv("NULLOPS_TEST_KUBERNETES_SPACE")
	ip := func(verb string) error {
		return exec.Command("ip", "-n", space, "address", verb, "169.254.169.254/32", "dev",
			"lo").Run()
	}
	// One that was killed may have left it.
	if err := ip("replace"); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "sidecar")
	if err := os.WriteFile(program, buildProgram(t, "../../cmd/sidecar"), 0o700); err != nil {
		t.Fatal(err)
	}
	listener := exec.Command("nsenter", "--net=/run/netns/"+space, program, "listen", "7780")
	if err := listener.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = listener.Process.Kill()
		_ = listener.Wait()
		_ = ip("delete")
	})
	return "169.254.169.254:7780"
}

// reachesFrom reports whether a service's container connects to an address.
func (r *rig) reachesFrom(deployment string, step pipeline.StepKey, address string) bool {
	r.t.Helper()
	code := r.runInside(deployment, step, "/.nullops/bin/init", "reach", address)
	if code != 0 && code != sidecar.ExitUnreachable {
		r.t.Fatalf("it ended with %d", code)
	}
	return code == 0
}

// runInside runs a command in a service's container, and returns its exit code.
func (r *rig) runInside(deployment string, step pipeline.StepKey, command ...string) int {
	r.t.Helper()
	conn, err := r.ExecInService(r.t.Context(), deployment, step)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := sidecar.NewFrameWriter(conn).JSON(sidecar.FrameStart, sidecar.Start{
		Command: command}); err != nil {
		r.t.Fatal(err)
	}
	for {
		f, err := sidecar.ReadFrame(conn)
		if err != nil {
			r.t.Fatal(err)
		}
		var end sidecar.Exit
		if f.Kind != sidecar.FrameExit {
			continue
		}
		if err := json.Unmarshal(f.Data, &end); err != nil {
			r.t.Fatal(err)
		}
		return end.Code
	}
}
