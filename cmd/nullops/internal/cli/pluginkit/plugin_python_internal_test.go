package pluginkit

import (
	"context"
	"encoding/json"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/docker"
	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/internal/testpart"
	"github.com/nullops/nullops/pipeline"
	"github.com/nullops/nullops/plugins/conformance"
	"github.com/nullops/nullops/plugins/stdio"
)

const pythonAdmin = "admin-password-of-the-server"

// pythonRig is a deployment with a PostgreSQL server, and a plugin that knows
// nothing of ours: a Python script in an image of Debian packages.
type pythonRig struct {
	t       *testing.T
	runtime *docker.Docker
	spec    agent.PluginSpec
	plugin  pluginFolder
	serial  int
}

// A plugin that reads only action, parameters and secrets, and writes only
// success, output and outputs, runs unchanged: what it makes works, and its
// delete leaves nothing in the server.
func TestPlugin_InPythonRunsUnchanged(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	r := newPythonRig(t)
	create := map[string]any{"action": "create",
		"parameters": map[string]any{"host": "db", "database": "shop", "connect_tries": 60},
		"secrets":    map[string]any{"adminPassword": pythonAdmin}}
	input, err := json.Marshal(create)
	if err != nil {
		t.Fatal(err)
	}
	ran, err := r.run(t.Context(), input)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := stdio.ParseResponse(ran.Stdout)
	if err != nil || !answer.Success {
		t.Fatalf("create: %v %s\n%s", err, ran.Stdout, strings.Join(ran.Log, "\n"))
	}
	own := r.connect("shop", answer.Outputs["password"].(string), "shop")
	if _, err := own.Exec(t.Context(), "CREATE TABLE works (n integer)"); err != nil {
		t.Errorf("the role cannot use its database: %v", err)
	}
	_ = own.Close(t.Context())
	verdicts, err := conformance.Check(t.Context(), conformance.TestedPlugin{
		Component: r.plugin.component, Create: create, Run: r.run})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range verdicts {
		if v.Problem != "" || v.Skipped != "" {
			t.Errorf("%s: %s%s", v.Check, v.Problem, v.Skipped)
		}
	}
	r.expectNothing()
}

func newPythonRig(t *testing.T) *pythonRig {
	t.Helper()
	host, registry := dockertest.Host(t), testRegistry(t)
	runtime, err := docker.New(t.Context(), docker.Config{Host: host, Install: uuid.NewString(),
		DataDir: t.TempDir(), RunDir: dockertest.RunDir(t)})
	if err != nil {
		t.Fatal(err)
	}
	r := &pythonRig{t: t, runtime: runtime}
	r.plugin, err = openPlugin("../../../../../deploy/examples/plugins/postgres-python")
	if err != nil {
		t.Fatal(err)
	}
	c := r.plugin.component
	r.spec = agent.PluginSpec{Deployment: uuid.NewString(), Run: "run", Network: c.Network,
		Image: pipeline.Image{Registry: registry, Insecure: true,
			Repository: "examples/postgres-python", Tag: "1.0.0"},
		Resources: pipeline.Resources{CPU: c.Resources.CPU, MemoryMiB: c.Resources.MemoryMiB},
		Timeout:   c.Timeout(), StdoutLimit: stdio.MaxResponse}
	t.Cleanup(r.close)
	r.start(pipeline.Image{Registry: registry, Insecure: true, Repository: "shop/postgres",
		Tag: "15"})
	return r
}

// start starts the server; the plugin waits for it by itself.
func (r *pythonRig) start(image pipeline.Image) {
	r.t.Helper()
	ctx := r.t.Context()
	if err := r.runtime.Prepare(ctx, r.spec.Deployment); err != nil {
		r.t.Fatal(err)
	}
	for _, one := range []pipeline.Image{image, r.spec.Image} {
		if err := r.runtime.Pull(ctx, one, nil, nil); err != nil {
			r.t.Fatal(err)
		}
	}
	err := r.runtime.StartService(ctx, agent.ServiceSpec{Deployment: r.spec.Deployment, Run: "run",
		Step: "db", Image: image, SecretEnv: map[string]string{"POSTGRES_PASSWORD": pythonAdmin},
		Ports:     []pipeline.Port{{Name: "sql", Port: 5432}},
		Volumes:   []pipeline.Volume{{Name: "data", Path: "/var/lib/postgresql/data"}},
		Resources: pipeline.Resources{CPU: 1, MemoryMiB: 256}})
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *pythonRig) close() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.t.Context()), time.Minute)
	defer cancel()
	left, err := r.runtime.RemoveDeployment(ctx, r.spec.Deployment)
	if err != nil || len(left) > 0 {
		r.t.Errorf("left in the engine: %v, %v", left, err)
	}
	if err := r.runtime.Close(); err != nil {
		r.t.Error(err)
	}
}

func (r *pythonRig) run(ctx context.Context, stdin []byte) (conformance.RunResult, error) {
	t := pluginTrial{plugin: r.plugin, runtime: r.runtime, spec: r.spec, serial: r.serial}
	r.serial++
	return t.run(ctx, stdin)
}

// connect goes through the deployment's relay: no port of it is published.
func (r *pythonRig) connect(user, password, database string) *pgx.Conn {
	r.t.Helper()
	config, err := pgx.ParseConfig("postgres://" + user + ":" + password + "@db/" + database +
		"?sslmode=disable")
	if err != nil {
		r.t.Fatal(err)
	}
	config.LookupFunc = func(context.Context, string) ([]string, error) {
		return []string{"127.0.0.1"}, nil
	}
	config.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return r.runtime.Dial(ctx, r.spec.Deployment, "db", 5432)
	}
	conn, err := pgx.ConnectConfig(r.t.Context(), config)
	if err != nil {
		r.t.Fatal(err)
	}
	return conn
}

func (r *pythonRig) expectNothing() {
	r.t.Helper()
	admin := r.connect("postgres", pythonAdmin, "postgres")
	defer func() { _ = admin.Close(context.WithoutCancel(r.t.Context())) }()
	var left int
	err := admin.QueryRow(r.t.Context(), `SELECT
		(SELECT count(*) FROM pg_database WHERE datname = 'shop') +
		(SELECT count(*) FROM pg_roles WHERE rolname = 'shop')`).Scan(&left)
	if err != nil || left != 0 {
		r.t.Errorf("delete left %d things, %v", left, err)
	}
}
