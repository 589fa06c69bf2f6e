// Package clustertest is for tests on the cluster that tools/kubernetes/node.sh starts. The
// variables that it reads are those that node.sh sets.
package clustertest

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// endWithInput is a shell's script that runs a program until that or the script's input ends.
const endWithInput = `exec 3<&0
"$@" 3<&- &
program=$!
{ cat <&3; kill $program; } >/dev/null 2>&1 &
wait $program`

// EnforcePolicies enforces, until the test ends, the network policies that the cluster stores, on
// its first machine: the network plugin there does not. tools/kubernetes/policies.go does it, with
// rules of the kernel's packet filter. They are gone too when the test is killed, since a shell
// ends the program when nobody holds its input any more: a later test that wants a cluster which
// enforces nothing has one.
func EnforcePolicies(t testing.TB) {
	t.Helper()
	enforcer := exec.Command("sh", "-c", endWithInput, "sh", "nsenter",
		"--net=/run/netns/"+os.Getenv("NULLOPS_TEST_KUBERNETES_SPACE"),
		os.Getenv("NULLOPS_TEST_KUBERNETES_PROGRAM"), "policies",
		"--kubeconfig="+os.Getenv("NULLOPS_TEST_KUBERNETES"))
	var said strings.Builder
	enforcer.Stderr = &said
	held, err := enforcer.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := enforcer.StdoutPipe()
	if err == nil {
		err = enforcer.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = held.Close()
		if err := enforcer.Wait(); err != nil {
			t.Errorf("enforce policies: %v %s", err, said.String())
		}
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("enforce policies: %v, it says %q", err, line)
	}
}
