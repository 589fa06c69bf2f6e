package main_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nullops/nullops/agent/docker/dockertest"
)

// TestMain lets more scenarios run at once than there are processors: they wait
// for containers much of their time. With six on two slow cores the engine took
// more than a minute to start a container, which is a limit of the product.
// Started as a relay, the binary is just that.
func TestMain(m *testing.M) {
	if socket := os.Getenv("E2E_RELAY_SOCKET"); socket != "" {
		bridgeSocket(os.Getenv("E2E_RELAY_ADDRESS"), socket)
	}
	if socket := os.Getenv("E2E_RELAY_ENTER"); socket != "" {
		dialInside(socket, os.Getenv("E2E_RELAY_ADDRESS"))
	}
	flag.Parse()
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// TestEndToEnd runs the real programs and uses nothing but their doors: the HTTP
// API, the command line, the ingress and the event streams. It needs the servers
// of `tools/run services`, as in
//
//	tools/run services -- go test ./cmd/nullops -run TestEndToEnd/Story -v
//
// How it is built: e2e_product_test.go starts control plane and ingress on free ports with a
// database of their own; e2e_node_test.go starts agents, each with its own data folder, tmpfs
// folder, address range and installation id; e2e_person_test.go speaks to the API as someone;
// e2e_docker_test.go looks at the engine. Scenarios that only read a product, or use projects of
// their own on it, share the one of world.product; whatever kills a process has its own. Every wait
// has an end, every process is stopped, and logs are shown on failure only.
func TestEndToEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, s := range []struct {
		name string
		run  func(*testing.T, *world)
	}{
		// The longest first: they overlap with the others.
		{"AlertCauses", alertCauses},
		{"EngineDies", engineDies},
		{"Story", story},
		{"Replicas", replicas},
		{"Lives", lives},
		{"RestoredBackup", restoredBackup},
		{"UpgradedRelease", upgradedRelease},
		{"AgentUpgrade", agentUpgrade},
		{"AgentDies", agentDies},
		{"ControlPlaneDies", controlPlaneDies},
		{"FailingServiceRollsBack", failingService},
		{"PluginsLeaveNothing", pluginsLeaveNothing},
		{"LoginsLeaveNothing", loginsLeaveNothing},
		{"Provisioning", provisioning},
		{"FailingPluginsRollBack", failingPlugins},
		{"Cancel", cancelAnywhere},
		{"NodeTrust", nodeTrust},
		{"NodeTokens", nodeTokens},
		{"TwoHosts", twoHosts},
		{"Revocations", revocations},
		{"Drained", drainNode},
		{"Moved", moveWithData},
		{"KeepsData", keepsData},
		{"KeepsDataAcrossNodes", keepsDataAcrossNodes},
		{"BackedUpVolumes", backedUpVolumes},
		{"HostilePeers", hostilePeers},
		{"TwoNodes", twoNodes},
		{"NodeTells", nodeTells},
		{"Masking", masking},
		{"RunSecrets", runSecrets},
		{"Applications", applications},
		{"Cookbook", cookbook},
		{"ServiceModel", serviceModel},
		{"Disk", diskTrouble},
		{"FullEngine", fullEngine},
		{"Isolation", isolation},
		{"Crowd", crowd},
		{"RefusedPipelines", refusedPipelines},
		{"RefusedRequests", refusedRequests},
		{"Registries", registries},
		{"RefusedStarts", refusedStarts},
		{"Encrypted", serveTLS},
		{"ShippedCompose", shippedCompose},
		{"ShippedDomain", shippedDomain},
		{"ShippedOrders", shippedOrders},
		{"FreshMachine", fresh},
		{"CertificateOrders", certificateOrders},
		{"Access", accessLevels},
		{"Approvals", approvals},
		{"DialingAgent", dialingAgent},
		{"CommandLine", commandLine},
		{"OtherCommands", otherCommands},
		{"Traced", traced},
		{"VaultKeys", vaultKeys},
		{"CaughtMails", caughtMails},
	} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s.run(t, w)
		})
	}
}

// patience bounds every wait. It only ends a test that hangs: on a loaded two-core machine
// three minutes were too few.
const patience = 8 * time.Minute

// world is what all scenarios share.
type world struct {
	t        *testing.T
	binary   string
	docker   string
	registry string
	// cluster is nil where nodes have Docker.
	cluster *cluster
	ranges  atomic.Int32
	once    sync.Once
	shared  *product
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, docker: dockertest.Host(t), registry: readVariable(t, "NULLOPS_TEST_REGISTRY")}
	readVariable(t, "NULLOPS_TEST_POSTGRES")
	w.binary = w.build(t, "e2e")
	return w
}

// readVariable reads the address of a test server.
func readVariable(t *testing.T, name string) string {
	t.Helper()
	value := os.Getenv(name)
	switch {
	case value != "":
	case os.Getenv("NULLOPS_TEST_STRICT") == "1":
		t.Fatal(name + " is not set: run through make test")
	default:
		t.Skip(name + " is not set: run through make test")
	}
	return value
}

// build compiles the whole product with a version. Go's cache makes the second
// build a link.
func (w *world) build(t *testing.T, version string, flags ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "nullops-"+version)
	args := append([]string{"build", "-trimpath", "-buildvcs=false", "-ldflags",
		"-s -w -X main.build=" + version, "-o", path}, flags...)
	c := exec.CommandContext(t.Context(), "go", append(args, ".")...)
	if !slices.Contains(flags, "-race") {
		// As it is shipped: it also has to run where there is nothing else.
		c.Env = append(os.Environ(), "CGO_ENABLED=0")
	}
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("build nullops: %v\n%s", err, out)
	}
	return path
}

// product is the one that scenarios share: with the example defined, and one
// node called alpha in the environment qa.
func (w *world) product() *product {
	w.once.Do(func() {
		p := startProduct(w.t, w)
		p.applyShop(w.t)
		p.defineHostile(w.t)
		p.enrol(w.t, "alpha", "qa")
		w.shared = p
	})
	if w.shared == nil {
		w.t.FailNow()
	}
	return w.shared
}
