package main_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
)

// tale is the story so far.
type tale struct {
	p *product
	n *node
	d apiclient.Deployment
	// before is what was on the node before the deployment.
	before  dockertest.LeakScan
	live    *stream
	list    *stream
	secrets []string
}

// story tells the main job in its order: define, enrol, deploy, watch, open,
// look for secrets, remove.
func story(t *testing.T, w *world) {
	s := &tale{p: startProductOn(t, w, pgtest.NewEmptyDatabase(t))}
	s.tell(t, s.define, s.enrol, s.deploy, s.checkPlugins, s.checkEvents, s.open, s.checkLimits,
		s.streams, s.replacedIngress, s.logs, s.keepsSecrets, s.remove)
}

// tell tells chapters up to one that fails.
func (s *tale) tell(t *testing.T, chapters ...func(*testing.T)) {
	t.Helper()
	for _, chapter := range chapters {
		chapter(t)
		if t.Failed() {
			return
		}
	}
}

// define applies the example twice.
func (s *tale) define(t *testing.T) {
	first := s.p.applyShop(t)
	for line := range strings.SplitSeq(strings.TrimSpace(first), "\n") {
		if strings.HasSuffix(line, "unchanged") {
			t.Errorf("the first apply found it there already: %s", line)
		}
	}
	second := s.p.applyShop(t)
	lines := strings.Split(strings.TrimSpace(second), "\n")
	if len(lines) < 10 {
		t.Errorf("apply said only:\n%s", second)
	}
	for _, line := range lines {
		if !strings.HasSuffix(line, "unchanged") {
			t.Errorf("the second apply changed something: %s", line)
		}
	}
	// Known values, so that they can be looked for.
	for _, secret := range [][2]string{{"API_TOKEN", `canary/api+token "4711" §`},
		{"DB_ADMIN_PASSWORD", "canary-admin/password+0815"}} {
		s.p.admin.put(t, "/projects/shop/secrets/"+secret[0], object{"value": secret[1]}, nil)
		s.secrets = append(s.secrets, secret[1])
	}
}

// enrol adds a node: a token that is shown once, and a thumbprint to compare.
func (s *tale) enrol(t *testing.T) {
	s.n = s.p.addNode(t, "one", "qa")
	for _, part := range []string{"docker run", "AGENT_TOKEN=", s.n.token, "/var/run/docker.sock",
		":/data", "5000"} {
		// promise: N-232
		if !strings.Contains(s.n.command, part) {
			t.Errorf("the line to run lacks %q: %s", part, s.n.command)
		}
	}
	// promise: N-209
	if again := s.p.admin.ask(t, http.MethodGet, "/nodes/one", nil); again.status != http.StatusOK ||
		strings.Contains(again.body, s.n.token[len("nopa1_")+11:]) {
		t.Errorf("the token is shown again: %s", again.body)
	}
	if shown := s.n.show(t); shown.Status != apiclient.NodeStatusEnrolled {
		t.Errorf("a node without an agent is %s", shown.Status)
	}
	s.n.start(t)
	// promise: N-200
	shown := s.n.await(t, apiclient.NodeStatusOnline)
	certificates, err := filepath.Glob(filepath.Join(s.n.data, "*.pem"))
	if err != nil {
		t.Fatal(err)
	}
	// promise: N-203, N-205
	if want := thumbprints(t, certificates); !slices.Contains(want,
		plainThumbprint(textOf(shown.Thumbprint))) {
		t.Errorf("thumbprint %q is none of %v in %v", textOf(shown.Thumbprint), want, certificates)
	}
	log, err := os.ReadFile(s.n.agent.log)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(plainThumbprint(string(log)), plainThumbprint(textOf(shown.Thumbprint))) {
		t.Errorf("the agent does not print %s for comparison", textOf(shown.Thumbprint))
	}
	s.before = s.n.scanForLeaks(t)
}

// thumbprints of every certificate in the files.
func thumbprints(t *testing.T, files []string) (all []string) {
	t.Helper()
	for _, file := range files {
		rest, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for {
			var block *pem.Block
			if block, rest = pem.Decode(rest); block == nil {
				break
			}
			if block.Type == "CERTIFICATE" {
				sum := sha256.Sum256(block.Bytes)
				all = append(all, hex.EncodeToString(sum[:]))
			}
		}
	}
	return all
}

// plainThumbprint writes a thumbprint without what makes it readable.
func plainThumbprint(thumbprint string) string {
	return strings.ToLower(strings.NewReplacer(":", "", " ", "", "sha256", "", "SHA256", "").
		Replace(thumbprint))
}

// deploy creates the deployment with chosen tags.
func (s *tale) deploy(t *testing.T) {
	s.list = s.p.admin.follow(t, "/events", "")
	s.d = s.p.admin.deploy(t, "shop", "first", map[string]string{"api": "v1.2.0-rc.1",
		"web": "feat-cart-redesign-51d0e7b"})
	s.live = s.p.admin.follow(t, "/deployments/"+s.d.Id+"/events", "")
	url := serviceURL(t, s.d, "web")
	eventually(t, "the ingress knows the host", func() string {
		a := s.p.visit(t, url+"/")
		switch {
		case a.status == http.StatusServiceUnavailable && a.header.Get("Retry-After") == "":
			t.Errorf("the page of what is starting has no Retry-After")
			return ""
		case a.status == http.StatusServiceUnavailable, a.status == http.StatusOK:
			return ""
		}
		return a.String()
	})
	// promise: N-250, V-09
	s.d = s.p.admin.await(t, s.d.Id, apiclient.DeploymentStatusReady)
	for _, v := range s.d.Versions {
		if !strings.HasPrefix(v.Digest, "sha256:") {
			t.Errorf("the tag of %s is not fixed to a digest: %+v", v.Step, v)
		}
	}
	s.checkOrder(t)
	s.metadata(t)
}

// checkPlugins asks the plugins whether what they made is there, and the node which
// plugins it holds.
func (s *tale) checkPlugins(t *testing.T) {
	out, errs, code := s.p.admin.cli(t, "check", s.d.Id)
	if code != 0 || !strings.Contains(out, "can sign in to database") {
		t.Errorf("check: exit code %d: %s%s", code, out, errs)
	}
	eventually(t, "the node holds the plugins", func() string {
		out, errs, code := s.p.admin.cli(t, "node", "show", "one")
		// promise: N-069
		if code != 0 || !regexp.MustCompile(`keycloak-user +here +`).MatchString(out) {
			return out + errs
		}
		return ""
	})
}

// metadata is what a plugin wants shown, beside its step.
func (s *tale) metadata(t *testing.T) {
	out, errs, code := s.p.admin.cli(t, "show", s.d.Id, "--json")
	var shown struct{ Steps []apiclient.Step }
	if err := json.Unmarshal([]byte(out), &shown); err != nil || code != 0 {
		t.Fatalf("show --json: %v, exit code %d: %s%s", err, code, out, errs)
	}
	for _, step := range shown.Steps {
		if step.Metadata != nil && slices.ContainsFunc(*step.Metadata,
			func(m apiclient.Metadatum) bool { return m.Name == "Scripts" && m.Value != "" }) {
			return
		}
	}
	t.Errorf("no step shows what its plugin reported: %s", out)
}

// checkOrder holds the run to its pipeline: one step at a time, after its needs.
func (s *tale) checkOrder(t *testing.T) {
	run := s.p.admin.run(t, s.d)
	var ended time.Time
	done := map[string]bool{}
	for i, step := range run.Steps {
		if step.Position != i+1 || step.Status != apiclient.StepStatusDone ||
			step.StartedAt == nil || step.EndedAt == nil {
			t.Fatalf("step %+v", step)
		}
		// promise: N-047, N-044
		if step.StartedAt.Before(ended) {
			t.Errorf("step %s began at %s, before the one in front of it ended at %s", step.Key,
				step.StartedAt, ended)
		}
		for _, need := range step.Needs {
			if !done[need] {
				t.Errorf("step %s ran before %s", step.Key, need)
			}
		}
		ended, done[step.Key] = *step.EndedAt, true
	}
	if len(run.Steps) != 6 {
		t.Errorf("%d steps", len(run.Steps))
	}
}

// checkEvents compares the event streams with what the API says now.
func (s *tale) checkEvents(t *testing.T) {
	s.live.awaitData(t, "deployment", `"status":"ready"`)
	// promise: N-092
	s.live.expectSoon(t)
	moves := s.live.stepMoves(t)
	for _, move := range []string{"create-db running", "create-db done", "web done", "smoke done"} {
		if !slices.Contains(moves, move) {
			t.Errorf("the stream never said %q: %v", move, moves)
		}
	}
	logged := s.p.admin.stepLog(t, s.d, "schema")
	if len(logged) == 0 {
		t.Fatal("the log of step schema is empty")
	}
	for _, line := range logged {
		s.live.awaitData(t, "line", jsonText(t, line))
	}
	ids := s.live.ids()
	if unique := slices.Compact(slices.Clone(ids)); len(unique) != len(ids) {
		t.Errorf("an id came twice: %v", ids)
	}
	// A reader that lost the connection in the middle misses nothing after it, and
	// sees nothing twice. Snapshots of the whole deployment may be fewer.
	middle := ids[len(ids)/2]
	rest := s.live.since(middle)
	resumed := s.p.admin.follow(t, "/deployments/"+s.d.Id+"/events", middle)
	eventually(t, "the stream resumes", func() string {
		if len(resumed.all("step")) < len(rest.all("step")) ||
			len(resumed.all("line")) < len(rest.all("line")) {
			return "only " + strings.Join(resumed.ids(), " ")
		}
		return ""
	})
	if got, want := resumed.stepMoves(t), rest.stepMoves(t); !slices.Equal(got, want) {
		t.Errorf("resumed behind %s with steps %v, wanted %v", middle, got, want)
	}
	if got, want := resumed.data("line"), rest.data("line"); !slices.Equal(got, want) {
		t.Errorf("resumed behind %s with lines %v, wanted %v", middle, got, want)
	}
	resumed.stop()
	s.list.awaitData(t, "deployment", `"status":"ready"`)
}

// open asks every URL as a tester would.
func (s *tale) open(t *testing.T) {
	web, api := serviceURL(t, s.d, "web"), serviceURL(t, s.d, "api")
	// promise: N-180
	if want := "http://web.first.qa.localhost:" + portOf(s.p.ingressAddr); web != want {
		t.Errorf("web is at %s, wanted %s", web, want)
	}
	eventually(t, "the page shows rows of the database", func() string {
		a := s.p.visit(t, web+"/")
		if a.status != http.StatusOK || !strings.Contains(a.body, "Green tea") {
			return a.String()
		}
		return ""
	})
	// promise: N-175, N-172
	if a := s.p.visit(t, api+"/products"); a.status != http.StatusOK ||
		!strings.Contains(a.body, "Green tea") {
		t.Errorf("products: %d %s", a.status, a.body)
	}
	// promise: N-027
	if a := s.p.visit(t, api+"/whoami"); !strings.Contains(a.body, "v1.2.0-rc.1") {
		t.Errorf("another version answers: %s", a.body)
	}
	eventually(t, "the visit is listed as activity", func() string {
		var list apiclient.ActivityList
		s.p.admin.get(t, "/deployments/"+s.d.Id+"/activity", &list)
		if list.Items[0].Kind != "visited" {
			return "its last activity is " + string(list.Items[0].Kind)
		}
		return ""
	})
	a := s.p.visit(t, api+"/headers", "X-Forwarded-For", "6.6.6.6", "X_Auth", "spoofed",
		"X-Forwarded-Host", "evil.example")
	if strings.Contains(a.body, "6.6.6.6") || strings.Contains(a.body, "spoofed") ||
		strings.Contains(a.body, "evil.example") {
		t.Errorf("a spoofed header came through: %s", a.body)
	}
	for host, why := range map[string]string{
		"nobody.first.qa.localhost":   "a service that is not there",
		"web.second.qa.localhost":     "a deployment that is not there",
		"postgres.first.qa.localhost": "a service that is not exposed", // promise: N-188
	} {
		a := s.p.visit(t, "http://"+host+":"+portOf(s.p.ingressAddr)+"/")
		if a.status != http.StatusNotFound || a.header.Get("Nullops-Page") == "" {
			t.Errorf("%s answered %d: %.200s", why, a.status, a.body)
		}
	}
}

// checkLimits looks at the containers: limits, and no published port.
func (s *tale) checkLimits(t *testing.T) {
	all := s.n.containers(t, s.d.Id)
	for _, key := range []string{"postgres", "api", "web", "relay"} {
		c, ok := all[key]
		if !ok {
			t.Fatalf("there is no container of %s, only %d others", key, len(all))
		}
		if len(c.HostConfig.PortBindings) > 0 || c.HostConfig.PublishAllPorts {
			t.Errorf("%s publishes %v", key, c.HostConfig.PortBindings) // promise: N-173
		}
		for port, bindings := range c.NetworkSettings.Ports {
			if len(bindings) > 0 {
				t.Errorf("%s publishes %v as %v", key, port, bindings)
			}
		}
	}
	// promise: N-041
	if c := all["postgres"]; c.HostConfig.Memory != 256<<20 || c.HostConfig.NanoCPUs != 5e8 {
		t.Errorf("postgres may use %d bytes and %d nano-CPUs", c.HostConfig.Memory,
			c.HostConfig.NanoCPUs)
	}
	// The engine takes a plugin's container away while the next step runs.
	// promise: N-062
	within(t, 15*time.Second, "the containers of plugins are gone", func() string {
		for key := range s.n.containers(t, s.d.Id) {
			if slices.Contains([]string{"create-db", "schema", "smoke"}, key) {
				return key
			}
		}
		return ""
	})
	for _, service := range s.d.Services {
		if service.Health != apiclient.HealthHealthy {
			t.Errorf("service %s is %s: %s", service.Step, service.Health, textOf(service.Detail))
		}
	}
}

// streams sends WebSocket and server-sent events through the ingress.
func (s *tale) streams(t *testing.T) {
	address, err := url.Parse(serviceURL(t, s.d, "api"))
	if err != nil {
		t.Fatal(err)
	}
	conn, _, err := websocket.Dial(t.Context(), "ws://"+address.Host+"/ws",
		&websocket.DialOptions{HTTPClient: s.p.client()})
	if err != nil {
		t.Fatalf("WebSocket: %v", err)
	}
	defer func() { _ = conn.CloseNow() }()
	for _, message := range []string{"hello", strings.Repeat("long ", 10_000)} {
		if err := conn.Write(t.Context(), websocket.MessageText, []byte(message)); err != nil {
			t.Fatal(err)
		}
		conn.SetReadLimit(1 << 20)
		if _, got, err := conn.Read(t.Context()); err != nil || string(got) != message {
			t.Fatalf("echo of %d bytes: %d bytes, %v", len(message), len(got), err)
		}
	}
	r, err := http.NewRequest(http.MethodGet, address.String()+"/events?count=3", nil)
	if err != nil {
		t.Fatal(err)
	}
	events := recordStream(t, s.p.client(), r)
	eventually(t, "three events and the end", func() string {
		if !events.over() || len(events.all("")) != 3 {
			return formatNumber(len(events.all("")))
		}
		return ""
	})
}

// logs reads a service's log as it is and as it grows.
func (s *tale) logs(t *testing.T) {
	path := "/deployments/" + s.d.Id + "/services/api/logs"
	past := s.p.admin.follow(t, path, "")
	past.awaitData(t, "line", "listening") // promise: N-280
	eventually(t, "the stream ends", func() string {
		if !past.over() {
			return "it goes on"
		}
		return ""
	})
	live := s.p.admin.follow(t, path+"?follow=true&tail=1", "")
	s.p.visit(t, serviceURL(t, s.d, "api")+"/no-such-page-0815")
	live.awaitData(t, "line", "no-such-page-0815") // promise: N-281
	live.stop()
}

// keepsSecrets looks for every secret in every place, after making sure that
// services have them and that the search finds what is there.
func (s *tale) keepsSecrets(t *testing.T) {
	all := s.n.containers(t, s.d.Id)
	api := readEnviron(t, all["api"].State.Pid)
	if api["API_TOKEN"] != s.secrets[0] {
		t.Errorf("the service did not get its secret, but %q", api["API_TOKEN"])
	}
	database, err := url.Parse(api["DATABASE_URL"])
	if err != nil {
		t.Fatal(err)
	}
	// An output that the plugin calls secret is kept like one.
	password, ok := database.User.Password()
	if !ok || len(password) < 12 {
		t.Fatalf("the connection string has no password to look for")
	}
	control := strings.Join(s.p.sightings(t, s.n, "first in qa"), "\n")
	for _, place := range []string{"inspect container", "config.v2.json"} {
		if !strings.Contains(control, place) {
			t.Errorf("positive control: a plain variable is not found in %s, only in\n%s", place,
				control)
		}
	}
	if !strings.Contains(strings.Join(s.p.sightings(t, s.n, s.d.Id), "\n"), "database dump") {
		t.Error("positive control: the deployment's id is not found in the dump")
	}
	for i, secret := range append(slices.Clone(s.secrets), password, s.n.token, s.p.key) {
		// promise: N-114, N-116, N-213
		for _, hit := range s.p.sightings(t, s.n, secret) {
			t.Errorf("secret %d is in %s", i, hit)
		}
	}
}

// remove takes everything away, and looks for leftovers.
func (s *tale) remove(t *testing.T) {
	now := s.n.scanForLeaks(t).AddedSince(s.before)
	for _, kind := range []string{"container ", "network ", "volume ", "file "} {
		if !slices.ContainsFunc(now, func(n string) bool { return strings.HasPrefix(n, kind) }) {
			t.Errorf("positive control: the scan sees no %sof the deployment: %q", kind, now)
		}
	}
	web := serviceURL(t, s.d, "web")
	if d := s.p.admin.remove(t, s.d.Id); d.Status != apiclient.DeploymentStatusRemoved {
		t.Errorf("it is %s", d.Status)
	}
	// promise: N-152
	if left := s.n.scanForLeaks(t).AddedSince(s.before); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	s.checkGone(t, web)
}

// checkGone makes sure that people see that a deployment was removed.
func (s *tale) checkGone(t *testing.T, url string) {
	// promise: N-184
	within(t, soon, "the host is gone", func() string {
		if a := s.p.visit(t, url+"/"); a.status != http.StatusGone {
			return a.String()
		}
		return ""
	})
	s.list.awaitData(t, "deployment", `"status":"removed"`)
}
