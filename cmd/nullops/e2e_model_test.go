package main_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/testpart"
)

// serviceModel deploys a service that uses everything a service step can have,
// twice, and looks at both from inside.
func serviceModel(t *testing.T, w *world) {
	testpart.Rotate(t)
	p := w.product()
	n := p.node("alpha")
	const token = "canary-model/token+4711"
	p.admin.put(t, "/projects/model", object{"resources": object{"cpu": 0.5, "memory_mib": 128},
		"cleanup_after_hours": 7}, nil)
	var project apiclient.Project
	p.admin.get(t, "/projects/model", &project)
	if project.CleanupAfterHours == nil || *project.CleanupAfterHours != 7 {
		t.Errorf("the project's own cleanup is %v", project.CleanupAfterHours)
	}
	p.admin.put(t, "/projects/model/secrets/TOKEN", object{"value": token}, nil)
	modelSecrets(t, p)
	p.admin.expectProblem(t, http.StatusBadRequest, http.MethodPut, "/projects/model/pipeline",
		pipelineOf(modelStep(0.3), modelStep(0.3, "second")), "0.6 cores together")
	one, two := modelInput(t, p)
	inside, other := n.inside(t, one.Id), n.inside(t, two.Id)
	if inside.env["SEED"] != "2 of plain" || other.env["SEED"] != "7 of ${{ secrets.TOKEN }}$" {
		t.Errorf("the services see the input %q and %q", inside.env["SEED"], other.env["SEED"])
	}
	form := regexp.MustCompile(`^LIC-[A-Z]{4}-[0-9]{12}$`)
	if !form.MatchString(inside.env["LICENCE"]) || inside.env["LICENCE"] == other.env["LICENCE"] {
		t.Error("the generated secrets are not of their form, or the same")
	}
	if inside.env["TOKEN"] != token || inside.env["WHO"] != "model-one of qa" {
		t.Errorf("the environment has TOKEN right: %t, WHO %q", inside.env["TOKEN"] == token,
			inside.env["WHO"])
	}
	if want := "name=model-one\ntoken=" + token + "\n"; inside.read(t, "etc/app.conf") != want {
		t.Error("the file is not what was to be rendered")
	}
	if options := inside.mount(t, "/etc/app.conf"); !strings.HasPrefix(options, "ro,") {
		t.Errorf("the file is mounted %s", options)
	}
	inside.write(t, "data/marker", "of model-one")
	if _, err := os.Stat(filepath.Join(other.root, "data/marker")); err == nil {
		t.Error("two deployments share a volume")
	}
	n.crash(t, one.Id)
	again := n.inside(t, one.Id)
	if again.read(t, "data/marker") != "of model-one" {
		t.Error("the volume did not outlive the container")
	}
	if again.env["LICENCE"] != inside.env["LICENCE"] {
		t.Error("the generated secret changed within one deployment")
	}
	for _, d := range []apiclient.Deployment{one, two} {
		p.admin.remove(t, d.Id)
		n.nothingLeft(t, d.Id)
	}
}

// modelInput publishes a pipeline with input, and deploys it with the defaults and with other
// values, one of which looks like a reference.
func modelInput(t *testing.T, p *product) (one, two apiclient.Deployment) {
	t.Helper()
	p.admin.put(t, "/projects/model/pipeline", object{"pipeline": object{
		"steps": []object{modelStep(0.2)}, "input": []object{
			{"name": "seed", "type": "string", "default": "plain"},
			{"name": "rows", "type": "integer", "min": 1, "default": 2}}}}, nil)
	one = p.admin.deployReady(t, "model", "model-one", nil)
	deploy := []string{"deploy", "model", "--env", "qa", "--name", "model-two", "--input"}
	if _, errs, code := p.admin.cli(t, append(deploy, "rows=0")...); code != exitRefused ||
		!strings.Contains(errs, "input.rows: give at least 1") {
		t.Errorf("rows=0: %d, %s", code, errs)
	}
	out, errs, code := p.admin.cli(t, append(deploy, "rows=7", "--input",
		"seed=${{ secrets.TOKEN }}$", "--json")...)
	if err := json.Unmarshal([]byte(out), &two); err != nil || code != 0 {
		t.Fatalf("%d: %s%s", code, out, errs)
	}
	out, _, _ = p.admin.cli(t, "show", "model-two")
	if !strings.Contains(out, "input rows: 7\ninput seed: ${{ secrets.TOKEN }}$\n") {
		t.Errorf("show prints\n%s", out)
	}
	return one, two
}

func modelSecrets(t *testing.T, p *product) {
	t.Helper()
	const path = "/projects/model/secrets/LICENCE"
	for says, generate := range map[string]object{
		"could be guessed":           {"pattern": "[0-9]{9}"},
		"Leave length and":           {"pattern": "[a-z]{20}", "length": 20},
		"12 to 128 characters":       {"alphabet": "hex"},
		"no number of times":         {"pattern": "[a-z]{}"},
		"longer than 256 characters": {"pattern": strings.Repeat("[a-z]", 60)},
	} {
		a := p.admin.ask(t, http.MethodPut, path, object{"generate": generate})
		if a.status != http.StatusBadRequest || !strings.Contains(a.body, says) {
			t.Errorf("%v: %s, wanted %q", generate, a, says)
		}
	}
	p.admin.put(t, path, object{"generate": object{"pattern": "LIC-[A-Z]{4}-[0-9]{12}"}}, nil)
	if a := p.admin.ask(t, http.MethodGet, "/projects/model/secrets", nil); !strings.Contains(a.body,
		"LIC-[A-Z]{4}") {
		t.Errorf("the rule is not shown: %s", a)
	}
}

// modelStep is a service step with one of everything.
func modelStep(cpu float64, key ...string) object {
	step := webStep(append(key, "web")[0])
	service := step["service"].(object)
	service["env"] = object{"API_URL": "http://nobody:1", "TOKEN": "${{ secrets.TOKEN }}",
		"LICENCE": "${{ secrets.LICENCE }}",
		"SEED":    "${{ input.rows }} of ${{ input.seed }}",
		"WHO":     "${{ deployment.name }} of ${{ deployment.environment }}"}
	service["files"] = []object{{"path": "/etc/app.conf",
		"content": "name=${{ deployment.name }}\ntoken=${{ secrets.TOKEN }}\n"}}
	service["volumes"] = []object{{"name": "data", "path": "/data"}}
	service["resources"] = object{"cpu": cpu, "memory_mib": 32}
	service["ready"] = object{"http": object{"port": 8080, "path": "/healthz", "status": 200},
		"interval_seconds": 1, "timeout_seconds": 10, "retries": 90, "start_period_seconds": 1}
	service["restart"] = "always"
	return step
}

// interior is a service's container as its process sees it.
type interior struct {
	pid  int
	root string
	env  map[string]string
}

// inside waits until the service runs and its own program, not the init before
// it, is what runs there.
func (n *node) inside(t *testing.T, deployment string) (i interior) {
	t.Helper()
	eventually(t, "the service runs", func() string {
		c, ok := n.containers(t, deployment)["web"]
		if !ok || c.State == nil || !c.State.Running || c.State.Pid == 0 {
			return "there is no running container"
		}
		i.pid = c.State.Pid
		if i.env = readEnviron(t, i.pid); i.env["TOKEN"] == "" {
			return "it has no TOKEN yet"
		}
		return ""
	})
	i.root = filepath.Join("/proc", strconv.Itoa(i.pid), "root")
	return i
}

func (i interior) read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(i.root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func (i interior) write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(i.root, path), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// mount returns the options of what is mounted at a path.
func (i interior) mount(t *testing.T, at string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(i.pid), "mountinfo"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if fields := strings.Fields(line); len(fields) > 5 && fields[4] == at {
			return fields[5]
		}
	}
	t.Fatalf("nothing is mounted at %s:\n%s", at, data)
	return ""
}

// crash kills the service's process, and waits for the agent to start it again.
func (n *node) crash(t *testing.T, deployment string) {
	t.Helper()
	before := n.containers(t, deployment)["web"]
	_, err := dockertest.Client(t, n.docker).ContainerKill(t.Context(), before.ID,
		client.ContainerKillOptions{Signal: "SIGKILL"})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the service is started again", func() string {
		c, ok := n.containers(t, deployment)["web"]
		if !ok || c.State == nil || !c.State.Running || c.State.Pid == before.State.Pid {
			return "it is not"
		}
		return ""
	})
}
