package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
)

// watched is a real Prometheus that scrapes a product, with the rules of deploy/observability.
type watched struct{ address string }

// startPrometheus starts control plane and ingress again with their metrics on, and a Prometheus
// that reads them.
func (p *product) startPrometheus(t *testing.T) watched {
	t.Helper()
	control, front, w := freeAddress(t), freeAddress(t), watched{freeAddress(t)}
	p.controlPlane.stop(t)
	p.startControlPlane(t, "NULLOPS_METRICS_LISTEN="+control)
	p.ingress.stop(t)
	p.startIngress(t, "NULLOPS_METRICS_LISTEN="+front)
	rules, err := filepath.Abs("../../deploy/observability/rules/nullops.yaml")
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(p.dir, "prometheus.yaml")
	text := fmt.Sprintf(`global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [%s]
scrape_configs:
  - job_name: nullops
    static_configs: [{targets: ['%s', '%s']}]
`, rules, control, front)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	server := startProcess(t, "prometheus", "prometheus", p.dir, nil, "--config.file="+config,
		"--storage.tsdb.path="+filepath.Join(p.dir, "tsdb"), "--web.listen-address="+w.address)
	p.awaitDoor(t, server, w.address)
	return w
}

// shows waits until a query has a value; an empty one is no result.
func (w watched) shows(t *testing.T, query, want string) {
	t.Helper()
	within(t, time.Minute, "Prometheus answers "+query+" with "+want, func() string {
		a, err := http.Get("http://" + w.address + "/api/v1/query?query=" + url.QueryEscape(query))
		if err != nil {
			return err.Error()
		}
		defer func() { _ = a.Body.Close() }()
		var answer struct {
			Data struct {
				Result []struct{ Value [2]any }
			}
		}
		if err := json.NewDecoder(a.Body).Decode(&answer); err != nil {
			return err.Error()
		}
		got := ""
		if len(answer.Data.Result) > 0 {
			got = fmt.Sprint(answer.Data.Result[0].Value[1])
		}
		if got != want {
			return "it says " + got
		}
		return ""
	})
}

// runsAlerts loses a node: NullOps alerts, a real Prometheus does, and the commands about alerts
// reach it; when the node is back, both end.
func (p *product) runsAlerts(t *testing.T, n *node) {
	t.Helper()
	w := p.startPrometheus(t)
	w.shows(t, `count(up{job="nullops"} == 1)`, "2")
	w.shows(t, `max(nullops_servers{role="ingress"})`, "1")
	w.shows(t, `max(nullops_nodes{status="online"})`, "1")
	bell := p.watchAlarms(t, "alert.started", "alert.ended")
	// Registries outside cannot be reached here, which becomes an alert too.
	if said := p.does(t, "alerts"); strings.Contains(said, "node.offline") {
		t.Errorf("before its node is lost there is an alert: %s", said)
	}
	n.agent.stop(t)
	n.await(t, apiclient.NodeStatusOffline)
	// It has to last for a minute, for which nobody waits here.
	hurry := func() {
		pgtest.Exec(t, p.database, "UPDATE alerts SET active_at = now() "+
			"WHERE condition = 'node.offline'")
	}
	// promise: N-326
	bell.rings(t, "alert.started", "Node "+n.name+" is offline.", hurry)
	id := firstID(t, p.commandSays(t, "node.offline", "alerts"))
	// No registry outside can be reached here, which is an alert of its own.
	fires := `count(ALERTS{alertname="NullOpsAlert", condition="node.offline", alertstate="firing"})`
	w.shows(t, fires, "1")
	p.commandSays(t, "acknowledged by admin", "alerts", "acknowledge", id)
	if _, errs, code := p.admin.cli(t, "alerts", "silence", id); code == 0 ||
		!strings.Contains(errs, "a silence ends") {
		t.Errorf("a silence without an end: %d, %s", code, errs)
	}
	p.commandSays(t, "silent until", "alerts", "silence", id, "--for", "2h")
	p.commandSays(t, "acknowledged by admin", "alerts", "unsilence", id)
	n.start(t)
	n.await(t, apiclient.NodeStatusOnline)
	bell.rings(t, "alert.ended", "Node "+n.name+" is offline.", func() {})
	p.commandSays(t, "ended", "alerts", "--ended")
	w.shows(t, fires, "")
}

// seesHungService stops a service from answering: it still takes connections, and does not end.
// Its deployment stops looking well within fifteen seconds, and again looks well once it answers.
func (p *product) seesHungService(t *testing.T, n *node) {
	t.Helper()
	p.admin.put(t, "/projects/hung", object{"resources": object{"memory_mib": 512}}, nil)
	web := webStep("web")
	web["service"].(object)["ready"] = object{"http": object{"port": 8080, "path": "/healthz"}}
	p.savePipeline(t, "hung", web)
	d := p.admin.deployReady(t, "hung", "hung", nil)
	is := func(condition apiclient.DeploymentCondition) func() string {
		return func() string {
			var now apiclient.Deployment
			p.admin.get(t, "/deployments/"+d.Id, &now)
			if now.Condition == nil || *now.Condition != condition {
				return fmt.Sprintf("it is %s, %v", now.Status, textOf((*string)(now.Condition)))
			}
			return ""
		}
	}
	within(t, time.Minute, "it looks well", is(apiclient.DeploymentConditionReady))
	process := n.containers(t, d.Id)["web"].State.Pid
	if err := syscall.Kill(process, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Kill(process, syscall.SIGCONT) }()
	// promise: O-05
	within(t, 15*time.Second, "a deployment whose service hangs does not look well",
		is(apiclient.DeploymentConditionDegraded))
	p.commandSays(t, "no answer in time", "show", "hung")
	p.awaitAlerts(t, true, map[string]string{"deployment.degraded": "hung"}) // promise: O-02
	if err := syscall.Kill(process, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	within(t, time.Minute, "it looks well again", is(apiclient.DeploymentConditionReady))
	p.awaitAlerts(t, false, map[string]string{"deployment.degraded": "hung"}) // promise: O-02
	p.does(t, "remove", "hung")
}

// runsSupport has components log more, and writes an archive of all processes. A secret that is in
// a log by accident is not in the archive.
func (p *product) runsSupport(t *testing.T, n *node) {
	t.Helper()
	p.commandSays(t, "Everything logs as the settings say", "log-level")
	p.commandSays(t, "fleet logs at level debug", "log-level", "set", "fleet", "debug", "--for", "5m")
	p.commandSays(t, "docker logs at level debug", "log-level", "set", "docker", "debug", "--for",
		"5m", "--node", n.name)
	p.commandSays(t, n.name, "log-level")
	p.does(t, "log-level", "reset", "docker", "--node", n.name)
	p.commandSays(t, "fleet logs as", "log-level", "reset", "fleet")

	secret := p.commandSays(t, "", "secret", "reveal", "every", "PASSWORD")
	p.admin.want(t, http.StatusNotFound, http.MethodGet, "/deployments/"+secret, nil, nil)
	file := filepath.Join(p.dir, "support.tar.gz")
	readme := p.commandSays(t, "a generated secret", "support", "-o", file)
	for _, want := range []string{"controlplane/log.txt", "ingress/goroutines.txt",
		"controlplane/metrics.txt", "controlplane/settings.txt", "nodes/" + n.name + "/log.txt",
		"versions.json", "checks.json"} {
		if !strings.Contains(strings.ReplaceAll(readme, "_", "/"), want) {
			t.Errorf("%s is not in the archive: %s", want, readme)
		}
	}
	archive, err := exec.CommandContext(t.Context(), "tar", "-xzOf", file).Output()
	if err != nil {
		t.Fatal(err)
	}
	for what, hidden := range map[string]string{"a project's secret": secret, "a token": n.token} {
		if strings.Contains(string(archive), hidden) {
			t.Errorf("the archive holds %s", what)
		}
	}
	if !strings.Contains(string(archive), `"component":"api"`) ||
		!strings.Contains(string(archive), "nullops_api_request_seconds") ||
		!strings.Contains(string(archive), "goroutine profile") {
		t.Error("the archive lacks lines of a log, metrics or goroutines")
	}
}
