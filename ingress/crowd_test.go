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

// With ten thousand routes, one of which changes with each of the tables,
// and a poisoned one among them, no request gets a wrong answer or an error.
func TestProxy_TenThousandRoutes(t *testing.T) {
	const hosts, tables, clients = 10_000, 20, 3
	up := newTargets(t)
	b := newBed(t, func(c *ingress.Config) { c.Dial = up.dial })
	all := make([]ingress.Route, 0, hosts+1)
	for i := range hosts {
		all = append(all, route("d"+strconv.Itoa(i), "web"))
	}
	poisoned := route("poisoned", "web")
	poisoned.Target = "\r\nHost: evil"
	all = append(all, poisoned)
	b.proxy.SetTable(ingress.NewTable(1, all).Within([]ingress.Zone{{Suffix: "env." + domain}}))
	var over atomic.Bool
	var asked atomic.Int64
	var group sync.WaitGroup
	for id := range clients {
		group.Go(func() {
			c := client(t)
			for i := 0; !over.Load() && i < 100; i++ {
				// The first ones change; the others must not notice.
				name := "d" + strconv.Itoa(tables+(id*7919+i*104729)%(hosts-tables))
				checkCrowd(t, b, c, name)
				asked.Add(1)
			}
		})
	}
	for n := range tables {
		next := append([]ingress.Route(nil), all...)
		next[n].DeploymentID, next[n].Target = fmt.Sprint("id-new", n), fmt.Sprint("new", n)
		table := ingress.NewTable(uint64(n+2), next).Within([]ingress.Zone{{Suffix: "env." + domain}})
		if len(table.Rejected()) != 1 || table.Len() != hosts {
			t.Errorf("%d rejected, %d routes", len(table.Rejected()), table.Len())
		}
		b.proxy.SetTable(table)
		if _, body := b.get(next[n].Host); body != next[n].Target {
			t.Errorf("table %d: %s is answered by %q", n, next[n].Host, body)
		}
	}
	over.Store(true)
	group.Wait()
	if asked.Load() == 0 {
		t.Error("nobody asked")
	}
}

func checkCrowd(t *testing.T, b *bed, c *http.Client, deployment string) {
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
	if err != nil || res.StatusCode != 200 || string(body) != "id-"+deployment+"/web/8080" {
		t.Errorf("%s: %d %.80q %v", deployment, res.StatusCode, body, err)
	}
}
