package main_test

import (
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/migrations"
)

// product is one installation: control plane, ingress and a database.
type product struct {
	w        *world
	dir      string
	database string
	key      string
	// vault is further environment of control plane and ingress.
	vault             []string
	http, ingressAddr string // addresses
	url, ingressURL   string
	controlPlane      *process
	ingress           *process
	password          string
	admin             *person
	nodes             *sync.Map // *node by name
}

// startProduct starts an installation for the length of a test. Its database has today's schema
// already: to migrate an empty one costs more than the rest of the start. The stories Story,
// UpgradedRelease, Encrypted and VaultKeys begin with an empty one, as an operator does.
func startProduct(t *testing.T, w *world) *product {
	t.Helper()
	return startProductOn(t, w, pgtest.URL(t, migrations.FS))
}

// startProductOn starts one on a database without users.
func startProductOn(t *testing.T, w *world, database string) *product {
	t.Helper()
	p := &product{w: w, dir: shortDir(t), database: database, http: freeAddress(t),
		ingressAddr: freeAddress(t), nodes: &sync.Map{}}
	p.url, p.ingressURL = "http://localhost:"+portOf(p.http), "http://localhost:"+portOf(p.ingressAddr)
	key, errs, code := runCommand(t, w.binary, nil, "", "keys", "new")
	if code != 0 {
		t.Fatalf("keys new: %s", errs)
	}
	p.key = strings.TrimSpace(key)
	p.startControlPlane(t)
	p.password = p.firstPassword(t)
	p.startIngress(t)
	p.admin = p.signIn(t, "admin", p.password)
	return p
}

// shortDir is a folder with a short name: it holds unix sockets.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "nops-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("files are kept in %s", dir)
			return
		}
		_ = os.RemoveAll(dir)
	})
	return dir
}

func freeAddress(t *testing.T) string {
	t.Helper()
	return dockertest.FreeAddress(t)
}

func portOf(address string) string { return address[strings.LastIndexByte(address, ':')+1:] }

// settings are those that control plane and ingress have in common.
func (p *product) settings() (env, args []string) {
	env = append([]string{"DATABASE_URL=" + p.database}, p.vault...)
	if p.key != "" {
		env = append(env, "NULLOPS_MASTER_KEYS="+p.key)
	}
	return env, []string{"--http.url=" + p.url, "--ingress.url=" + p.ingressURL, "--log.format=json"}
}

func (p *product) startControlPlane(t *testing.T, more ...string) {
	t.Helper()
	env, args := p.settings()
	p.controlPlane = startProcess(t, p.w.binary, "controlplane", p.dir, append(env, more...),
		append([]string{"controlplane", "--http.listen=" + p.http}, args...)...)
	p.awaitDoor(t, p.controlPlane, p.http)
}

func (p *product) startIngress(t *testing.T, more ...string) {
	t.Helper()
	env, args := p.settings()
	p.ingress = startProcess(t, p.w.binary, "ingress", p.dir, append(env, more...),
		append([]string{"ingress", "--ingress.listen=" + p.ingressAddr}, args...)...)
	p.awaitDoor(t, p.ingress, p.ingressAddr)
}

// sockets is where ingress and agents of a scenario find each other on one machine.
func (p *product) sockets() string { return filepath.Join(p.dir, "sockets") }

func (p *product) awaitDoor(t *testing.T, server *process, address string) {
	t.Helper()
	eventually(t, server.name+" listens", func() string {
		if server.hasEnded() {
			t.Fatalf("%s ended at once:\n%s", server.name, lastLines(server.log, 20))
		}
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return err.Error()
		}
		_ = conn.Close()
		return ""
	})
}

// firstPassword reads what is printed once, and holds it to that.
func (p *product) firstPassword(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(p.controlPlane.out)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`user admin, password (\S+)`).FindAllSubmatch(text, -1)
	if len(found) != 1 {
		t.Fatalf("the first admin's password is printed %d times:\n%s", len(found), text)
	}
	return string(found[0][1])
}

// applyShop defines the example with the command line, as a user would.
func (p *product) applyShop(t *testing.T) (out string) {
	t.Helper()
	args := []string{"apply", "-f", shopFolder, "--set", "registry/local.host=" + p.w.registry}
	if k := p.w.cluster; k != nil {
		ca, err := os.ReadFile(k.authority)
		if err != nil {
			t.Fatal(err)
		}
		args = append(args, "--set", "registry/local.insecure=false", "--set",
			"registry/local.ca="+jsonText(t, string(ca)))
	}
	out, errs, code := p.admin.cli(t, args...)
	if code != 0 {
		t.Fatalf("apply: exit code %d\n%s%s", code, out, errs)
	}
	return out
}

const shopFolder = "../../deploy/examples/shop"

// defineHostile adds the plugin that misbehaves on request.
func (p *product) defineHostile(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile("../../plugins/testplugin/component.json")
	if err != nil {
		t.Fatal(err)
	}
	p.admin.put(t, "/plugins/hostile", object{"registry": "local", "image": "test/hostile",
		"tag": "1.0.0", "component": json.RawMessage(text)}, nil)
}

// define saves a project with this pipeline.
func (p *product) define(t *testing.T, project string, steps ...object) apiclient.PipelineSaved {
	t.Helper()
	p.admin.put(t, "/projects/"+project,
		object{"resources": object{"cpu": 2, "memory_mib": 512}}, nil)
	return p.savePipeline(t, project, steps...)
}

func (p *product) savePipeline(t *testing.T, project string,
	steps ...object) (saved apiclient.PipelineSaved) {
	t.Helper()
	p.admin.put(t, "/projects/"+project+"/pipeline", pipelineOf(steps...), &saved)
	return saved
}

// object is JSON as the tests write it.
type object = map[string]any

func pipelineOf(steps ...object) object {
	return object{"pipeline": object{"steps": steps}}
}

// hostileStep returns a step of the plugin that misbehaves on request.
func hostileStep(key string, needs []string, parameters object) object {
	return object{"key": key, "needs": append([]string{}, needs...),
		"plugin": object{"name": "hostile", "parameters": parameters}}
}

// webStep is a step that starts the shop's page, which needs nobody to start.
func webStep(key string, needs ...string) object {
	return object{"key": key, "needs": append([]string{}, needs...), "service": object{
		"name":      "shop-web",
		"env":       object{"API_URL": "http://nobody:1"},
		"ports":     []object{{"name": "http", "port": 8080, "expose": true}},
		"resources": object{"cpu": 0.2, "memory_mib": 64},
		"ready":     object{"tcp": object{"port": 8080}}}}
}

// visit asks the ingress for a URL of a deployment. Names under localhost are
// this machine's by definition, but not every resolver knows it.
func (p *product) visit(t *testing.T, url string, header ...string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return sendRequest(t, p.client(), r)
}

// client reaches the ingress whatever the host is.
func (p *product) client() *http.Client {
	dialer := &net.Dialer{}
	return &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: dialTo(dialer, p.ingressAddr)},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		}}
}
