// Package clustertest is for tests on the cluster that tools/kubernetes/node.sh starts. The
// variables that it reads are those that node.sh sets.
package clustertest

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// EnforcePolicies enforces, until the test ends, the network policies that the cluster stores, on
// its first machine: the network plugin there does not. tools/kubernetes/policies.go does it, with
// rules of the kernel's packet filter.
func EnforcePolicies(t testing.TB) {
	t.Helper()
	enforcer := exec.Command("nsenter",
		"--net=/run/netns/"+os.Getenv("NULLOPS_TEST_KUBERNETES_SPACE"),
		os.Getenv("NULLOPS_TEST_KUBERNETES_PROGRAM"), "policies",
		"--kubeconfig="+os.Getenv("NULLOPS_TEST_KUBERNETES"))
	var said strings.Builder
	enforcer.Stderr = &said
	out, err := enforcer.StdoutPipe()
	if err == nil {
		err = enforcer.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = enforcer.Process.Signal(syscall.SIGTERM)
		if err := enforcer.Wait(); err != nil {
			t.Errorf("enforce policies: %v %s", err, said.String())
		}
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("enforce policies: %v, it says %q", err, line)
	}
}
