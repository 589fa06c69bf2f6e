package docker

import (
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"
)

// Interfaces in two containers may have the same number, as with engines since 28: what runs in
// one is not taken for the other end of an interface that belonged to the other one.
func TestLinks_SameNumberInTwoNamespaces(t *testing.T) {
	if os.Geteuid() != 0 {
		if os.Getenv("NULLOPS_TEST_STRICT") == "1" {
			t.Fatal("making network namespaces needs root")
		}
		t.Skip("making network namespaces needs root")
	}
	own := strconv.Itoa(os.Getpid() % 100000)
	pids := map[string]int{}
	for _, name := range []string{"nlta" + own, "nltb" + own} {
		c := exec.Command("unshare", "--net", "sh", "-c", "echo here; exec sleep 60")
		out, err := c.StdoutPipe()
		if err == nil {
			err = c.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
		if _, err := out.Read(make([]byte, 8)); err != nil { // it is in its namespace now
			t.Fatal(err)
		}
		pids[name] = c.Process.Pid
		add := exec.CommandContext(t.Context(), "ip", "link", "add", name, "type", "veth", "peer",
			"name", "eth0", "netns", strconv.Itoa(c.Process.Pid))
		if out, err := add.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	links, err := listInterfaces()
	if err != nil {
		t.Fatal(err)
	}
	peers, numbers := map[linkPeer]bool{}, map[int32]bool{}
	for name, pid := range pids {
		at := slices.IndexFunc(links, func(l networkInterface) bool { return l.name == name })
		if at < 0 {
			t.Fatalf("%s is not among %+v", name, links)
		}
		want := linkPeer{namespaceNumber(pid), links[at].peer.index}
		if links[at].peer != want || want.namespace == unnamed {
			t.Errorf("the other end of %s is %+v, want %+v", name, links[at].peer, want)
		}
		peers[want], numbers[want.index] = true, true
	}
	if len(peers) != 2 || len(numbers) != 1 {
		t.Errorf("two ends of one number in two namespaces are %v", peers)
	}
	if n := namespaceNumber(1 << 30); n != unnamed {
		t.Errorf("no process has the namespace %d", n)
	}
}
