package main_test

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/testpart"
)

// anyRefusal accepts every status that blames the request.
const anyRefusal = 0

// badPipeline is one that is refused, and what the refusal says.
type badPipeline struct {
	why   string
	steps []object
	says  []string
}

func badPipelines() []badPipeline {
	a, b := hostileStep("a", nil, object{}), hostileStep("b", []string{"a"}, object{})
	text := func(reference string) object { return object{"text": reference} }
	greedy := webStep("greedy")
	greedy["service"].(object)["resources"] = object{"cpu": 0.1, "memory_mib": 100_000}
	both := webStep("both")
	both["plugin"] = object{"name": "hostile"}
	return []badPipeline{
		{"cycle", []object{hostileStep("a", []string{"c"}, object{}), b,
			hostileStep("c", []string{"b"}, object{})}, []string{"a", "b", "c", "cycle"}},
		{"unknown need", []object{hostileStep("a", []string{"ghost"}, object{})}, []string{"ghost"}},
		{"unknown step in a reference",
			[]object{hostileStep("a", nil, text("${{ steps.ghost.outputs.x }}"))},
			[]string{"ghost", "parameters.text", `"step":"a"`}},
		{"reference to a step that is no ancestor",
			[]object{a, hostileStep("z", nil, text("${{ steps.a.outputs.x }}"))},
			[]string{"parameters.text", `"step":"z"`}},
		{"unknown service in a reference",
			[]object{hostileStep("a", nil, text("${{ services.ghost.host }}"))}, []string{"ghost"}},
		{"half a reference", []object{hostileStep("a", nil, text("${{ steps.a"))},
			[]string{"parameters.text"}},
		{"missing required parameter",
			[]object{{"key": "check", "plugin": object{"name": "http-check"}}},
			[]string{"url", `"step":"check"`}},
		{"wrong type", []object{hostileStep("a", nil, object{"seconds": "soon"})},
			[]string{"parameters.seconds", "number"}},
		{"unknown parameter", []object{hostileStep("a", nil, object{"speed": 1})}, []string{"speed"}},
		{"unknown plugin", []object{{"key": "a", "plugin": object{"name": "ghost"}}},
			[]string{"ghost"}},
		{"unknown service", []object{{"key": "a", "service": object{"name": "ghost"}}},
			[]string{"ghost"}},
		{"key that is no DNS label", []object{hostileStep("Not A Label", nil, object{})},
			[]string{"key"}},
		{"key twice", []object{a, hostileStep("a", nil, object{"text": "again"})}, []string{"a"}},
		{"service and plugin", []object{both}, []string{"both"}},
		{"neither", []object{{"key": "empty"}}, []string{"empty"}},
		{"unknown field", []object{{"key": "a", "privileged": true}}, []string{"privileged"}},
		{"more than the project may use", []object{greedy}, []string{"memory"}}, // promise: N-041
	}
}

// refusedPipelines saves pipelines with one mistake each. Nothing changes.
func refusedPipelines(t *testing.T, w *world) {
	p := w.product()
	saved := p.define(t, "wrong", hostileStep("a", nil, object{"text": "right"}))
	const path = "/projects/wrong/pipeline"
	for _, bad := range badPipelines() {
		t.Run(strings.ReplaceAll(bad.why, " ", "-"), func(t *testing.T) {
			p.admin.expectProblem(t, anyRefusal, http.MethodPut, path, pipelineOf(bad.steps...), bad.says...)
		})
	}
	everything := p.admin.expectProblem(t, anyRefusal, http.MethodPut, path, pipelineOf(
		hostileStep("a", []string{"ghost"}, object{"seconds": "soon"}),
		hostileStep("b", nil, object{"text": "${{ steps.a.outputs.x }}"})))
	if everything.Problems == nil || len(*everything.Problems) < 3 {
		t.Errorf("three mistakes, and the answer lists %+v", everything.Problems)
	}
	var now apiclient.PipelineVersion
	p.admin.get(t, path, &now)
	if now.Version != saved.Version || now.Digest != saved.Digest {
		t.Errorf("a refused pipeline made version %d", now.Version)
	}
	again := p.savePipeline(t, "wrong", hostileStep("a", nil, object{"text": "right"}))
	if again.Changed || again.Version != saved.Version {
		t.Errorf("the same pipeline again is version %d", again.Version)
	}
	next := p.savePipeline(t, "wrong", hostileStep("a", nil, object{"text": "better"}))
	// promise: N-049
	if !next.Changed || next.Version != saved.Version+1 {
		t.Errorf("a changed pipeline is version %d after %d", next.Version, saved.Version)
	}
	var old apiclient.PipelineVersion
	p.admin.get(t, fmt.Sprintf("%s/versions/%d", path, saved.Version), &old)
	if old.Digest != saved.Digest {
		t.Errorf("version %d changed", saved.Version)
	}
}

// refusedRequests creates deployments with one mistake each, on the shop, and
// sends bodies that are none. Nothing is created.
func refusedRequests(t *testing.T, w *world) {
	p := w.product()
	with := func(more object) object {
		body := object{"name": "refused", "project": "shop", "environment": "qa"}
		maps.Copy(body, more)
		return body
	}
	versions := func(step, tag string) object { return with(object{"versions": object{step: tag}}) }
	for _, c := range []struct {
		why  string
		body any
		says []string
	}{
		// promise: N-028
		{"a tag outside the pattern", versions("api", "main-3f2a1bc"),
			[]string{"versions.api", "v*"}},
		{"a tag that does not exist", versions("web", "v9.9.9"), []string{"versions.web", "v9.9.9"}},
		// promise: N-025
		{"a pinned tag", versions("postgres", "15-debian"), []string{"versions.postgres"}},
		{"a digest as a tag", versions("web", "v1.1.0@sha256:"+strings.Repeat("a", 64)), []string{"web"}},
		{"a path as a tag", versions("web", "../web"), []string{"web"}},
		{"a version of a plugin", versions("schema", "1.1.0"), []string{"schema"}},
		{"a version of nothing", versions("ghost", "1"), []string{"ghost"}},
		{"a name that is no DNS label", with(object{"name": "Not_A.Label"}), []string{"name"}},
		{"a name that is too long", with(object{"name": strings.Repeat("a", 41)}), []string{"name"}},
		{"no name", object{"project": "shop", "environment": "qa"}, []string{"name"}},
		{"an unknown project", with(object{"project": "ghost"}), []string{"ghost"}},
		{"an unknown environment", with(object{"environment": "ghost"}), []string{"ghost"}},
		// promise: N-117, N-118
		{"its own environment", with(object{"env": object{"A": "b"}}), []string{"env"}},
		{"its own limits", with(object{"resources": object{"cpu": 64}}), []string{"resources"}},
		{"its own parameters", with(object{"parameters": object{"schema": "x"}}),
			[]string{"parameters"}},
		{"its own pipeline", with(object{"pipeline": pipelineOf(webStep("web"))}),
			[]string{"pipeline"}},
		{"a version of the pipeline that does not exist",
			with(object{"pipeline_version": 1 << 20}), []string{"pipeline_version"}},
		{"half a body", `{"name":"refused","project":`, nil},
		{"two bodies", `{"name":"refused","project":"shop","environment":"qa"}{}`, nil},
		{"a list", `[]`, nil},
	} {
		t.Run(strings.ReplaceAll(c.why, " ", "-"), func(t *testing.T) {
			p.admin.expectProblem(t, anyRefusal, http.MethodPost, "/deployments", c.body, c.says...)
		})
	}
	huge := webStep("web")
	huge["service"].(object)["resources"] = object{"cpu": 0.1, "memory_mib": 4_000_000}
	p.admin.put(t, "/projects/huge", object{"resources": object{"memory_mib": 8_000_000}}, nil)
	p.savePipeline(t, "huge", huge)
	full := p.admin.expectProblem(t, anyRefusal, http.MethodPost, "/deployments",
		with(object{"project": "huge"}), "memory")
	// promise: N-132
	if full.Placement == nil || len(*full.Placement) == 0 {
		t.Errorf("no table of reasons: %+v", full)
	}
	p.admin.expectProblem(t, http.StatusConflict, http.MethodDelete,
		"/projects/shop/secrets/API_TOKEN", nil)
	p.admin.expectProblem(t, http.StatusConflict, http.MethodDelete, "/services/shop-web", nil, "shop")
	var list apiclient.DeploymentList
	p.admin.get(t, "/deployments?removed=true&name=refused", &list)
	// promise: N-132
	if len(list.Items) > 0 {
		t.Errorf("a refused request made %+v", list.Items)
	}
}

// refusedStarts starts servers with settings that cannot work.
func refusedStarts(t *testing.T, w *world) {
	testpart.Rotate(t)
	const key = "NULLOPS_MASTER_KEYS=k1:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
	const database = "DATABASE_URL=postgres://nobody@127.0.0.1:1/nothing?connect_timeout=2"
	top := settingsFile(t, "log:\n  level: info\nhtpp:\n  listen: 127.0.0.1:1\n")
	deep := settingsFile(t, "http:\n  listn: 127.0.0.1:1\n")
	onDisk := t.TempDir()
	for _, c := range []struct {
		why  string
		env  []string
		args []string
		says []string
	}{
		{"no database", []string{key}, []string{"controlplane"},
			[]string{"database.url", "NULLOPS_DATABASE_URL"}},
		// promise: N-119
		{"no key", []string{database}, []string{"controlplane"},
			[]string{"master.keys", "nullops keys new"}},
		{"a short key", []string{database, "NULLOPS_MASTER_KEYS=k1:c2hvcnQ="},
			[]string{"controlplane"}, []string{"master.keys", "32"}},
		{"the sample key", []string{database,
			"NULLOPS_MASTER_KEYS=k1:c2FtcGxlLWtleS1vZi10aGUtZG9jdW1lbnRhdGlvbiE="},
			[]string{"controlplane"}, []string{"master.keys"}},
		{"a key without a name", []string{database, "NULLOPS_MASTER_KEYS=c2hvcnQ="},
			[]string{"ingress"}, []string{"master.keys"}},
		{"a database that is not there", []string{key, database}, []string{"controlplane"},
			[]string{"database.url"}},
		{"an address that is none", []string{key, database},
			[]string{"controlplane", "--http.listen=nonsense"}, []string{"http.listen", "127.0.0.1:8080"}},
		{"a URL that is none", []string{key, database},
			[]string{"controlplane", "--http.url=nonsense"}, []string{"http.url", "https://"}},
		{"a level that is none", []string{key, database},
			[]string{"ingress", "--log.level=loud"}, []string{"log.level", "warn"}},
		{"a flag that is none", []string{key, database},
			[]string{"controlplane", "--htpp.listen=x"}, []string{"htpp"}},
		{"a file with an unknown part", []string{key, database},
			[]string{"controlplane", "--config=" + top}, []string{top, "htpp"}},
		{"a file with an unknown setting", []string{key, database},
			[]string{"controlplane", "--config=" + deep}, []string{deep, "listn"}},
		{"a variable that is no setting", []string{key, database, "NULLOPS_HTPP_LISTEN=x"},
			[]string{"controlplane"}, []string{"htpp"}},
		{"a range that is none", []string{"AGENT_TOKEN=x"},
			[]string{"agent", "--agent.subnets=nonsense"}, []string{"agent.subnets", "10."}},
		{"a grace that is too long", []string{"AGENT_TOKEN=x"},
			[]string{"agent", "--agent.grace=11m"}, []string{"agent.grace", "10m0s", "10s"}},
		{"a relative folder", []string{"AGENT_TOKEN=x"},
			[]string{"agent", "--agent.data=data"}, []string{"agent.data", "absolute"}},
		{"a Vault without TLS", []string{database, "NULLOPS_VAULT_ADDRESS=http://vault.example.org:8200",
			"NULLOPS_VAULT_TRANSIT_KEY=nullops", "NULLOPS_VAULT_TOKEN_FILE=/dev/null"},
			[]string{"controlplane"}, []string{"vault.address", "https://", "vault.ca"}},
		{"a secret in Vault's address", []string{database, "NULLOPS_VAULT_TOKEN_FILE=/dev/null",
			"NULLOPS_VAULT_TRANSIT_KEY=nullops", "NULLOPS_VAULT_ADDRESS=https://me:MDEyMzQ1@vault.example"},
			[]string{"ingress"}, []string{"vault.address", "vault.approle"}},
		{"two ways into Vault", []string{database, "NULLOPS_VAULT_ADDRESS=https://vault.example.org",
			"NULLOPS_VAULT_KV_PATH=nullops", "NULLOPS_VAULT_TOKEN_FILE=/dev/null",
			"NULLOPS_VAULT_KUBERNETES_ROLE=nullops"}, []string{"controlplane"},
			[]string{"exactly one", "vault.approle.role", "vault.kubernetes.role"}},
		{"a primary key that is not set", []string{key, database, "NULLOPS_MASTER_PRIMARY=transit"},
			[]string{"controlplane"}, []string{"master.primary", "vault.transit.key"}},
		{"no token", nil, []string{"agent", "--agent.run=" + onDisk}, []string{"agent.token"}},
	} {
		t.Run(strings.ReplaceAll(c.why, " ", "-"), func(t *testing.T) {
			_, errs, code := runCommand(t, w.binary, c.env, "", c.args...)
			if code == 0 {
				t.Fatal("it started")
			}
			for _, say := range c.says {
				if !strings.Contains(strings.ToLower(errs), strings.ToLower(say)) {
					t.Errorf("it does not say %q: %s", say, errs)
				}
			}
			if lines := strings.Count(strings.TrimSpace(errs), "\n") + 1; lines > 4 {
				t.Errorf("%d lines for one mistake:\n%s", lines, errs)
			}
			if strings.Contains(errs, "MDEyMzQ1") || strings.Contains(errs, "c2FtcGxl") {
				t.Errorf("the key is in the error: %s", errs)
			}
		})
	}
}

func settingsFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "nullops.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
