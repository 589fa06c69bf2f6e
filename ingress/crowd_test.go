package ingress_test

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nullops/nullops/ingress"
)

// With ten thousand routes, two thousand of which change, a hundred with each
// of the tables, and a poisoned one among them, no request gets a wrong answer or
// an error: what does not change answers as ever, what changes answers as before
// or as after.
//
// fault: F57
func TestProxy_TenThousandRoutes(t *testing.T) {
	t.Parallel()
	const hosts, tables, changes, clients = 10_000, 20, 100, 3
	const changed = tables * changes
	up := newTargets(t)
	b := newBed(t, func(c *ingress.Config) { c.Dial = up.dial })
	all := make([]ingress.Route, 0, hosts+1)
	for i := range hosts {
		all = append(all, newRoute("d"+strconv.Itoa(i), "web"))
	}
	poisoned := newRoute("poisoned", "web")
	poisoned.Target = "\r\nHost: evil"
	all = append(all, poisoned)
	b.proxy.SetTable(ingress.NewTable(1, all).WithZones([]ingress.Zone{{Suffix: "env." + domain}}))
	var over atomic.Bool
	var asked atomic.Int64
	var group sync.WaitGroup
	for id := range clients {
		group.Go(func() {
			c := newClient(t)
			for i := 0; !over.Load(); i++ {
				// The first ones change; the others must not notice.
				n := (id*7919 + i*104729) % (hosts - changed)
				checkCrowd(t, b, c, "d"+strconv.Itoa(changed+n), "")
				checkCrowd(t, b, c, "d"+strconv.Itoa(n%changed), "new"+strconv.Itoa(n%changed))
				asked.Add(1)
			}
		})
	}
	for n := range tables {
		next := append([]ingress.Route(nil), all...)
		for i := n * changes; i < (n+1)*changes; i++ {
			next[i].DeploymentID, next[i].Target = fmt.Sprint("id-new", i), fmt.Sprint("new", i)
		}
		all = next
		table := ingress.NewTable(uint64(n+2), next).WithZones([]ingress.Zone{{Suffix: "env." + domain}})
		if len(table.RejectedRoutes()) != 1 || table.Len() != hosts {
			t.Errorf("%d rejected, %d routes", len(table.RejectedRoutes()), table.Len())
		}
		b.proxy.SetTable(table)
		// From the moment a table is set, nothing before it answers.
		for i := range 5 {
			r := next[n*changes+i*changes/5]
			if _, body := b.get(r.Host); body != r.Target {
				t.Errorf("table %d: %s is answered by %q", n, r.Host, body)
			}
		}
	}
	over.Store(true)
	group.Wait()
	if asked.Load() == 0 {
		t.Error("nobody asked")
	}
}

// checkCrowd asks one deployment, which may answer as it always did or, if that
// is not empty, as the other target.
func checkCrowd(t *testing.T, b *bed, c *http.Client, deployment, other string) {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+b.addr, nil)
	if err != nil {
		t.Error(err)
		return
	}
	req.Host = "web." + deployment + ".env." + domain
	res, err := c.Do(req)
	if err != nil {
		t.Error(err)
		return
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	known := string(body) == "id-"+deployment+"/web/8080" || other != "" && string(body) == other
	if err != nil || res.StatusCode != 200 || !known {
		t.Errorf("%s: %d %.80q %v", deployment, res.StatusCode, body, err)
	}
}
