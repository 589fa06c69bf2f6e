package main_test

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/testpart"
)

const (
	// crowdVariable says how many deployments crowd puts on a node; `make
	// test-crowd` sets it to what is promised.
	crowdVariable = "NULLOPS_TEST_CROWD"
	// fewest is what `make test` has time for.
	fewest = 6
	// crowdSubnets has room for 256 networks, apart from those of other tests.
	crowdSubnets = "10.224.0.0/18"
)

// crowd fills one node with deployments. Each answers at its own URL, none
// reaches another one's service or relay by address, and no network stays when all
// are removed.
func crowd(t *testing.T, w *world) {
	testpart.Rotate(t)
	size := crowdSize(t)
	p := startProduct(t, w)
	p.applyShop(t)
	n := p.addNode(t, "crowded", "qa")
	n.subnets = crowdSubnets
	n.start(t)
	n.await(t, apiclient.NodeStatusOnline)
	p.define(t, "crowd", smallStep("web"))
	ids := make([]string, size)
	forEach(t, "deployed", size, func(t *testing.T, i int) {
		d := p.admin.deployReady(t, "crowd", "crowd-"+formatNumber(i), nil)
		p.answers(t, serviceURL(t, d, "web"))
		ids[i] = d.Id
	})
	tenants, err := dockertest.Tenants(t.Context(), n.docker, n.install(t), 8080)
	if err != nil || len(tenants) != size {
		t.Fatalf("%d of %d deployments are on the engine: %v", len(tenants), size, err)
	}
	pairs, err := dockertest.Apart(t.Context(), tenants)
	// promise: I-10
	if err != nil || pairs != size*(size-1) {
		t.Errorf("%d pairs of %d deployments are apart: %v", pairs, size, err)
	}
	if networks := n.objects(t, "network "); len(networks) != size {
		t.Errorf("the scan sees %d networks of %d", len(networks), size)
	}
	forEach(t, "removed", size, func(t *testing.T, i int) { p.admin.remove(t, ids[i]) })
	// promise: I-10
	if left := n.objects(t, "network ", "container ", "volume "); len(left) > 0 {
		t.Errorf("left of %d deployments: %q", size, left)
	}
}

func crowdSize(t *testing.T) int {
	t.Helper()
	text := os.Getenv(crowdVariable)
	if text == "" {
		return fewest
	}
	size, err := strconv.Atoi(text)
	if err != nil || size < 2 || size > 256 {
		t.Fatalf("%s is %q: give a number from 2 to 256", crowdVariable, text)
	}
	return size
}

// smallStep is a service of about 5 MiB; two hundred of them have to find room on
// a node, so each asks for little.
func smallStep(key string) object {
	step := webStep(key)
	service := step["service"].(object)
	service["env"] = object{"API_URL": "http://nobody:1", "GOGC": "50"}
	service["resources"] = object{"cpu": 0.03, "memory_mib": 16}
	return step
}

// forEach does something for every number, a few at once, and continues only when all went well.
func forEach(t *testing.T, what string, size int, do func(t *testing.T, i int)) {
	t.Helper()
	well := t.Run(what, func(t *testing.T) {
		for i := range size {
			t.Run(formatNumber(i), func(t *testing.T) {
				t.Parallel()
				do(t, i)
			})
		}
	})
	if !well {
		t.FailNow()
	}
}

// objects are those of some kinds that this agent has on its engine.
func (n *node) objects(t *testing.T, kinds ...string) (found []string) {
	t.Helper()
	for _, thing := range n.scanForLeaks(t).AddedSince(dockertest.LeakScan{}) {
		for _, kind := range kinds {
			if strings.HasPrefix(thing, kind) {
				found = append(found, thing)
			}
		}
	}
	return found
}
