//go:build chaos

package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/controlplane/apiclient"
)

// settleTime is how long everything may take to settle once nothing is broken any more. It is no
// promise of the product: a service that never becomes ready is given up after a minute, and
// machines that run tests may be several times as slow as a free one.
const settleTime = 4 * time.Minute

// calm waits until everything has settled, and looks whether all is as it has to be.
func (c *chaos) calm(t *testing.T) {
	t.Helper()
	began := time.Now()
	c.await(t, "everything settles", func() string { return c.unsettled(t) })
	c.say("round %d: settled after %.1f s", c.round, time.Since(began).Seconds())
	c.removeStuck(t)
	c.watch(c.deploymentIDs(t))
	c.await(t, "nothing is left over on the nodes", func() string { return c.leftOver(t) })
	c.await(t, "what is ready answers", func() string { return c.silent(t) })
	c.await(t, "every event comes", func() string { return c.missingEvents(t) })
	c.checkEvents(t)
	c.checkEffects(t)
	c.checkRows(t)
	c.checkLogs(t)
	if out, errs, code := c.product.admin.cli(t, "audit", "verify"); code != 0 ||
		!strings.HasPrefix(out, "audit: OK, ") {
		c.violate("audit verify: %d %s%s", code, out, errs)
	}
	c.say("round %d: checked after %.1f s", c.round, time.Since(began).Seconds())
	c.mu.Lock()
	broken := len(c.violations)
	c.mu.Unlock()
	// fault: F64
	// promise: R-02
	if broken > 0 {
		c.reportUnsettled()
		c.describe()
		t.Fatalf("%d invariants do not hold:\n%s", broken, strings.Join(c.violations, "\n"))
	}
}

// await asks until nothing is missing. What is still missing at the end is a violation.
func (c *chaos) await(t *testing.T, what string, so func() (missing string)) {
	t.Helper()
	deadline, said := time.Now().Add(settleTime), time.Now()
	for {
		c.interruptible(t)
		c.supervise()
		missing := so()
		if missing == "" {
			return
		}
		if time.Now().After(deadline) {
			c.violate("not so after %s: %s: %s", settleTime, what, missing)
			return
		}
		if time.Since(said) > 20*time.Second {
			c.say("waits until %s: %s", what, missing)
			said = time.Now()
		}
		time.Sleep(longestPause)
	}
}

// unsettled says what is not as it will stay.
func (c *chaos) unsettled(t *testing.T) string {
	t.Helper()
	for i, url := range c.urls {
		if a := c.get(url + "/readyz"); a.status != http.StatusOK {
			return fmt.Sprintf("control plane %d is not ready: %s", i, a)
		}
	}
	for _, n := range c.nodes {
		var shown apiclient.Node
		if missing := c.read("/nodes/"+n.name, &shown); missing != "" {
			return missing
		}
		if shown.Status != apiclient.NodeStatusOnline {
			return fmt.Sprintf("%s is %s: %s", n.name, shown.Status, textOf(shown.StatusDetail))
		}
	}
	all, missing := c.deployments()
	if missing != "" {
		return missing
	}
	for _, d := range all {
		moves := d.Moving != nil && *d.Moving
		if !isSettled(d.Status) || moves || d.Status == apiclient.DeploymentStatusReady &&
			d.Condition != nil && *d.Condition != apiclient.DeploymentConditionReady {
			return fmt.Sprintf("%s (%s) is %s: %s %s", d.Name, d.Id, d.Status, textOf(d.Detail),
				textOf(d.ConditionReason))
		}
		if d.Status == apiclient.DeploymentStatusFailed && d.Failure == nil {
			c.violate("%s (%s) failed, and nothing says why", d.Name, d.Id)
		}
	}
	return ""
}

// removeStuck holds what is stuck to saying on what, and tries again.
func (c *chaos) removeStuck(t *testing.T) {
	t.Helper()
	all, _ := c.deployments()
	for _, d := range all {
		if d.Status != apiclient.DeploymentStatusStuck {
			continue
		}
		left := []string{}
		if d.Left != nil {
			left = *d.Left
		}
		c.say("%s (%s) is stuck on node %s: %s: %q", d.Name, d.Id, textOf(d.Node),
			textOf(d.Detail), left)
		c.reportRun(d)
		if d.Left == nil || len(*d.Left) == 0 {
			c.violate("%s (%s) is stuck, and nothing says on what", d.Name, d.Id)
		}
		c.remove(d)
		c.await(t, "what is stuck goes at the second try", func() string {
			var now apiclient.Deployment
			missing := c.read("/deployments/"+d.Id, &now)
			if missing != "" || now.Status != apiclient.DeploymentStatusRemoved {
				return missing + string(now.Status) + ": " + textOf(now.Detail)
			}
			return ""
		})
	}
}

// leftOver looks on both engines for objects of deployments that are not there any more, or
// are on the other node.
func (c *chaos) leftOver(t *testing.T) string {
	t.Helper()
	at := map[string]string{}
	rows, err := c.connect(t).Query(t.Context(), `SELECT d.id::text, CASE WHEN d.status IN
		('removed', 'canceled', 'forgotten', 'failed') THEN d.status ELSE coalesce(n.name, '') END
		FROM deployments d LEFT JOIN nodes n ON n.id = d.node_id`)
	if err == nil {
		var id, place string
		_, err = pgx.ForEachRow(rows, []any{&id, &place}, func() error {
			at[id] = place
			return nil
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range c.nodes {
		found, err := n.objects(t)
		if err != nil {
			return err.Error()
		}
		for name, deployment := range found {
			if at[deployment] != n.name {
				return fmt.Sprintf("%s has %s, whose deployment %s is %q", n.name, name, deployment,
					at[deployment])
			}
		}
	}
	return ""
}

// objects are what has this installation's label on an engine, with the deployment's.
func (n *chaosNode) objects(t *testing.T) (map[string]string, error) {
	t.Helper()
	api := dockertest.Client(t, n.docker)
	ours := client.Filters{}.Add("label", "nullops.install="+n.install)
	ctx, stop := context.WithTimeout(t.Context(), deedTime)
	defer stop()
	found := map[string]string{}
	const label = "nullops.deployment"
	containers, err := api.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: ours})
	if err != nil {
		return nil, fmt.Errorf("list containers: %w", err)
	}
	for _, o := range containers.Items {
		found["container "+strings.Join(o.Names, " ")] = o.Labels[label]
	}
	networks, err := api.NetworkList(ctx, client.NetworkListOptions{Filters: ours})
	if err != nil {
		return nil, fmt.Errorf("list networks: %w", err)
	}
	for _, o := range networks.Items {
		found["network "+o.Name] = o.Labels[label]
	}
	volumes, err := api.VolumeList(ctx, client.VolumeListOptions{Filters: ours})
	if err != nil {
		return nil, fmt.Errorf("list volumes: %w", err)
	}
	for _, o := range volumes.Items {
		found["volume "+o.Name] = o.Labels[label]
	}
	return found, nil
}

// silent says which ready deployment does not answer its visitors.
func (c *chaos) silent(t *testing.T) string {
	t.Helper()
	all, missing := c.deployments()
	if missing != "" {
		return missing
	}
	for _, d := range all {
		if d.Status != apiclient.DeploymentStatusReady {
			continue
		}
		ctx, stop := context.WithTimeout(c.ctx, deedTime)
		r, err := http.NewRequestWithContext(ctx, http.MethodGet,
			serviceURL(t, d, "web")+"/healthz", nil)
		if err != nil {
			t.Fatal(err)
		}
		a := sendRequest(t, c.product.client(), r)
		stop()
		if a.status != http.StatusOK {
			return fmt.Sprintf("%s (%s): %.200s", d.Name, d.Id, a)
		}
	}
	return ""
}

// checkEffects compares what plugins did with what the control plane says that they did.
func (c *chaos) checkEffects(t *testing.T) {
	t.Helper()
	all := c.effects.list()
	made := map[string]int{}
	last := map[string]string{}
	runs := c.texts(t, "SELECT id::text, deployment_id::text FROM runs")
	for _, e := range all {
		if e.Action == "create" {
			made[e.Run.ID+" "+e.Text]++
		}
		if runs[e.Run.ID] == "" {
			c.violate("a plugin ran for run %q, which nobody knows", e.Run.ID)
		}
		last[runs[e.Run.ID]+" "+e.Text] = e.Action
	}
	for step, times := range made {
		if times > 1 {
			c.violate("step %s ran %d times, and may run once", step, times)
		}
	}
	for step := range c.texts(t, `SELECT run_id || ' ' || key, status FROM run_steps
		WHERE status = 'done' AND key IN ('first', 'last')`) {
		if made[step] != 1 {
			c.violate("step %s is done, and its plugin ran %d times", step, made[step])
		}
	}
	gone := c.texts(t, `SELECT id::text, status FROM deployments WHERE status IN
		('removed', 'canceled', 'failed')`)
	for step, action := range last {
		id, key, _ := strings.Cut(step, " ")
		if status := gone[id]; status != "" && action != "delete" {
			c.violate("deployment %s is %s, and plugin %s was not undone", id, status, key)
		}
	}
}

// checkRows looks for what the database holds for deployments that are gone.
func (c *chaos) checkRows(t *testing.T) {
	t.Helper()
	for host, id := range c.texts(t, `SELECT h.host, d.id::text FROM deployment_hosts h
		JOIN deployments d ON d.id = h.deployment_id
		WHERE d.status IN ('removed', 'canceled', 'forgotten')`) {
		c.violate("host %s still belongs to %s, which is gone", host, id)
	}
	for name, n := range c.texts(t, `SELECT name, count(*)::text FROM deployments
		WHERE status NOT IN ('removed', 'canceled', 'forgotten') GROUP BY name
		HAVING count(*) > 1`) {
		c.violate("%s deployments have the name %s", n, name)
	}
}

// texts reads pairs of texts.
func (c *chaos) texts(t *testing.T, query string) map[string]string {
	t.Helper()
	found := map[string]string{}
	rows, err := c.connect(t).Query(t.Context(), query)
	if err == nil {
		var key, value string
		_, err = pgx.ForEachRow(rows, []any{&key, &value}, func() error {
			found[key] = value
			return nil
		})
	}
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return found
}

func (c *chaos) deploymentIDs(t *testing.T) (ids []string) {
	t.Helper()
	for id := range c.texts(t, "SELECT id::text, status FROM deployments") {
		ids = append(ids, id)
	}
	return ids
}

var worstWords = regexp.MustCompile(
	`(?m)^(panic: |fatal error: |WARNING: DATA RACE).*|"msg":"[^"]*panic[^"]*"`)

// checkLogs looks for what no program of ours may say.
func (c *chaos) checkLogs(t *testing.T) {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(c.product.dir, "*.log"))
	if err != nil || len(logs) < 4 {
		t.Fatalf("logs %v: %v", logs, err)
	}
	for _, path := range logs {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if found := worstWords.Find(text); found != nil {
			c.violate("%s says: %.300s", path, found)
		}
	}
}

// clear removes all that is there, and looks for anything that is left.
func (c *chaos) clear(t *testing.T) {
	t.Helper()
	c.await(t, "everything can be removed", func() string {
		all, missing := c.deployments()
		for _, d := range all {
			if !isGone(string(d.Status)) {
				missing = d.Name + " is " + string(d.Status) + ": " + textOf(d.Detail)
				if isSettled(d.Status) {
					c.remove(d)
				}
			}
		}
		return missing
	})
	c.calm(t)
	for _, n := range c.nodes {
		var shown apiclient.Node
		if missing := c.read("/nodes/"+n.name, &shown); missing != "" || shown.Deployments != 0 ||
			shown.Allocated.CPU != 0 || shown.Allocated.MemoryMiB != 0 {
			c.violate("%s holds %d deployments and %+v %s", n.name, shown.Deployments,
				shown.Allocated, missing)
		}
		for _, folder := range []string{n.run, filepath.Join(n.data, "relays")} {
			if entries, _ := filepath.Glob(filepath.Join(folder, "*", "*")); len(entries) > 0 {
				c.violate("%s has files of deployments: %v", n.name, entries)
			}
		}
	}
	if len(c.violations) > 0 {
		c.describe()
		t.Fatal(strings.Join(c.violations, "\n"))
	}
}

// remove asks for it, which may be refused or not answered.
func (c *chaos) remove(d apiclient.Deployment) {
	c.request(c.ctx, c.product.admin, 0, http.MethodDelete, "/deployments/"+d.Id, nil, "")
}

// deployments are those that are not gone.
func (c *chaos) deployments() (all []apiclient.Deployment, missing string) {
	var list apiclient.DeploymentList
	missing = c.read("/deployments?limit=100", &list)
	return list.Items, missing
}

// read asks as an admin, and says why there is no answer.
func (c *chaos) read(path string, into any) (missing string) {
	ctx, stop := context.WithTimeout(c.ctx, deedTime)
	defer stop()
	a := c.request(ctx, c.product.admin, 0, http.MethodGet, path, nil, "")
	if a.status != http.StatusOK {
		return path + ": " + a.String()
	}
	if err := json.Unmarshal([]byte(a.body), into); err != nil {
		return path + ": " + err.Error()
	}
	return ""
}

func (c *chaos) get(url string) answer {
	ctx, stop := context.WithTimeout(c.ctx, deedTime)
	defer stop()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return answer{status: -1, body: err.Error()}
	}
	return sendRequest(c.t, c.client, r)
}
