package main_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/servertest"
	"github.com/nullops/nullops/internal/testpart"
	"github.com/nullops/nullops/plugins/keycloak/keycloaktest"
	"github.com/nullops/nullops/plugins/stdio/stdiotest"
)

const serversPassword = "the-admins-own-password"

// servers are the real ones that the shipped plugins are for, where plugins in
// containers reach them.
type servers struct {
	postgres, mariadb, redis, rabbit stdiotest.ServerAddress

	s3       *servertest.S3
	keycloak *keycloaktest.Server
}

// startServers starts them side by side: together they take as long as the
// slowest.
func startServers(t *testing.T) *servers {
	t.Helper()
	host := machineAddress(t)
	s := &servers{s3: servertest.NewS3(t, host), keycloak: keycloaktest.NewOn(t, host)}
	s.keycloak.Clients["id-web"] = map[string]any{"id": "id-web", "clientId": "web",
		"redirectUris": []any{"http://theirs/*"}, "webOrigins": []any{"+"}}
	s.rabbit = stdiotest.RabbitMQ(t, host, serversPassword)
	s.postgres = stdiotest.Postgres(t, host, serversPassword)
	s.mariadb = stdiotest.MariaDB(t, host, serversPassword)
	s.redis = stdiotest.Redis(t, host, serversPassword)
	return s
}

// pluginsLeaveNothing runs every shipped plugin in one pipeline whose last step fails, and looks
// into each server before, in between and after: the rollback has to restore exactly what was
// there.
func pluginsLeaveNothing(t *testing.T, w *world) {
	testpart.Rotate(t)
	p, s := w.product(), startServers(t)
	n := p.node("alpha")
	p.admin.put(t, "/projects/all", object{"resources": object{"memory_mib": 512}}, nil)
	for name, value := range map[string]string{"ADMIN": serversPassword,
		"KEYCLOAK": keycloaktest.AdminPassword, "ACCESS": servertest.AccessKey,
		"SECRET": servertest.SecretKey} {
		p.admin.put(t, "/projects/all/secrets/"+name, object{"value": value}, nil)
	}
	stop := newStopper(t)
	steps := s.steps(p, t)
	failing := pluginStep("http-check", lastKey(steps), object{"url": stop.url, "retries": 3,
		"interval_seconds": 0.1, "timeout_seconds": 60}, nil)
	failing["plugin"].(object)["timeout_seconds"] = 300
	steps = append(steps, failing)
	p.savePipeline(t, "all", steps...)
	before := s.look(t)
	d := p.admin.deploy(t, "all", "all", nil)
	// Eleven containers, and as many to undo them, take their time under load.
	const long = 12 * time.Minute
	within(t, long, "every plugin but the last ran", func() string {
		now := p.admin.deployment(t, d.Id)
		switch {
		case stop.wasReached():
			return ""
		case now.Status == apiclient.DeploymentStatusFailed:
			t.Fatal(p.admin.describe(t, now))
		}
		return string(now.Status)
	})
	s.fill(t)
	during := s.look(t)
	for server, things := range during {
		if slices.Equal(things, before[server]) {
			t.Errorf("%s: the plugin made nothing, so that its undoing shows nothing: %v",
				server, things)
		}
	}
	stop.release()
	within(t, long, "the rollback ends", func() string {
		if now := p.admin.deployment(t, d.Id); !isSettled(now.Status) {
			return string(now.Status)
		}
		return ""
	})
	d = p.admin.await(t, d.Id, apiclient.DeploymentStatusFailed)
	if d.Failure == nil || textOf(d.Failure.Step) != "http-check" {
		t.Errorf("failure %+v", d.Failure)
	}
	// promise: N-094, N-096
	for server, things := range s.look(t) {
		if !slices.Equal(things, before[server]) {
			t.Errorf("%s after the rollback:\n%q\nbefore:\n%q", server, things, before[server])
		}
	}
	for _, step := range p.admin.run(t, d).Steps {
		if step.Key != "http-check" && step.Status != apiclient.StepStatusUndone {
			t.Errorf("step %s is %s", step.Key, step.Status)
		}
	}
	n.nothingLeft(t, d.Id)
}

// steps are one of each plugin that the repository ships; each needs the one
// before it.
func (s *servers) steps(p *product, t *testing.T) (steps []object) {
	add := func(name string, parameters object, secrets map[string]string) {
		p.registerPlugin(t, name)
		steps = append(steps, pluginStep(name, lastKey(steps), parameters, secrets))
	}
	admin := map[string]string{"adminPassword": "${{ secrets.ADMIN }}"}
	keycloak := map[string]string{"adminPassword": "${{ secrets.KEYCLOAK }}"}
	add("wait-for", object{"host": s.postgres.Host, "port": parsePort(t, s.postgres.Port)}, nil)
	add("postgres-database", object{"host": s.postgres.Host, "port": parsePort(t, s.postgres.Port),
		"database": "${{ deployment.name }}_42"}, admin)
	add("sql-script", object{"scripts": []object{{"name": "schema",
		"sql": "CREATE TABLE kept AS SELECT 7 AS n"}},
		"connection_string": "${{ steps.postgres-database.outputs.connectionString }}"}, nil)
	add("mysql-database", object{"host": s.mariadb.Host, "port": parsePort(t, s.mariadb.Port),
		"database": "all_42"}, admin)
	add("redis-user", object{"host": s.redis.Host, "port": parsePort(t, s.redis.Port),
		"user": "all"}, admin)
	add("rabbitmq-vhost", object{"host": s.rabbit.Host, "admin_user": "admin",
		"management_port": parsePort(t, s.rabbit.Port), "vhost": "all-42"}, admin)
	add("s3-bucket", object{"endpoint": s.s3.URL, "bucket": "all-42"},
		map[string]string{"accessKey": "${{ secrets.ACCESS }}", "secretKey": "${{ secrets.SECRET }}"})
	add("keycloak-user", object{"url": s.keycloak.URL, "realm": "shop", "username": "tester"},
		keycloak)
	add("oauth-redirect-uri", object{"url": s.keycloak.URL, "realm": "shop", "client_id": "web",
		"redirect_uri": "http://web.all.qa.test/*"}, keycloak)
	add("shell", object{"command": []string{"echo", "hello"}}, nil)
	p.registerPlugin(t, "http-check")
	return steps
}

func lastKey(steps []object) string {
	if len(steps) == 0 {
		return ""
	}
	return steps[len(steps)-1]["key"].(string)
}

func pluginStep(name, needs string, parameters object, secrets map[string]string) object {
	plugin := object{"name": name, "parameters": parameters}
	if secrets != nil {
		plugin["secrets"] = secrets
	}
	step := object{"key": name, "needs": []string{}, "plugin": plugin}
	if needs != "" {
		step["needs"] = []string{needs}
	}
	return step
}

// registerPlugin makes a shipped plugin known, as its folder describes it.
func (p *product) registerPlugin(t *testing.T, name string) {
	t.Helper()
	text, err := os.ReadFile("../../plugins/" + name + "/component.json")
	if err != nil {
		t.Fatal(err)
	}
	p.admin.put(t, "/plugins/"+name, object{"registry": "local", "image": "plugins/" + name,
		"tag": "1.0.0", "component": json.RawMessage(text)}, nil)
}

func parsePort(t *testing.T, port string) int {
	t.Helper()
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// stopper keeps the last step waiting, and fails it in the end.
type stopper struct {
	url     string
	asked   chan struct{}
	carryOn chan struct{}
	askOnce sync.Once
}

func newStopper(t *testing.T) *stopper {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(machineAddress(t), "0"))
	if err != nil {
		t.Fatal(err)
	}
	s := &stopper{url: "http://" + l.Addr().String(), asked: make(chan struct{}),
		carryOn: make(chan struct{})}
	server := &http.Server{Handler: s, ReadHeaderTimeout: patience}
	go func() { _ = server.Serve(l) }() // ends with Close
	t.Cleanup(func() { _ = server.Close() })
	return s
}

func (s *stopper) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.askOnce.Do(func() { close(s.asked) })
	select {
	case <-s.carryOn:
	case <-r.Context().Done():
	}
	w.WriteHeader(http.StatusInternalServerError)
}

func (s *stopper) wasReached() bool {
	select {
	case <-s.asked:
		return true
	default:
		return false
	}
}

func (s *stopper) release() { close(s.carryOn) }

// fill uses what the plugins made, as a deployment would: removing what is in
// use is harder.
func (s *servers) fill(t *testing.T) {
	t.Helper()
	s.ask(t, "mariadb", "CREATE TABLE all_42.kept AS SELECT 7 AS n")
	s.ask(t, "redis", "MSET", "all:1", "kept", "all:2", "kept")
	s.broker(t, http.MethodPut, "queues/all-42/orders", `{"durable":true}`)
	s.s3.Put("all-42", "a folder/%2F?", "kept")
}

// look lists everything that a plugin could leave in each of the servers.
func (s *servers) look(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{
		"postgres": s.tables(t),
		"mariadb": s.ask(t, "mariadb", "SELECT 'database', schema_name FROM "+
			"information_schema.schemata UNION SELECT 'user', user FROM mysql.global_priv "+
			"UNION SELECT 'right', user FROM mysql.db"),
		"redis": append(s.ask(t, "redis", "ACL", "LIST"), s.ask(t, "redis", "KEYS", "*")...),
	}
	for _, kind := range []string{"vhosts", "users", "permissions", "queues"} {
		var things []struct{ Name, User, Vhost string }
		if err := json.Unmarshal(s.broker(t, http.MethodGet, kind, ""), &things); err != nil {
			t.Fatal(err)
		}
		for _, thing := range things {
			all["rabbitmq"] = append(all["rabbitmq"], fmt.Sprintf("%s %+v", kind, thing))
		}
	}
	all["s3"] = s.s3.Buckets()
	s.keycloak.Lock()
	defer s.keycloak.Unlock()
	for name, things := range map[string]any{"keycloak's users": s.keycloak.Users,
		"keycloak's clients": s.keycloak.Clients} {
		said, err := json.Marshal(things)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = []string{string(said)}
	}
	for _, things := range all {
		slices.Sort(things)
	}
	return all
}

func (s *servers) tables(t *testing.T) []string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), "postgres://postgres:"+s.postgres.Password+"@"+
		s.postgres.Address()+"/postgres?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	rows, err := conn.Query(t.Context(), `SELECT 'database ' || datname FROM pg_database
		UNION ALL SELECT 'role ' || rolname FROM pg_roles`)
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// ask uses a server's own command line: nothing of ours looks for what ours left.
func (s *servers) ask(t *testing.T, server string, question ...string) []string {
	t.Helper()
	c := exec.CommandContext(t.Context(), "redis-cli", append([]string{"-h", s.redis.Host,
		"-p", s.redis.Port}, question...)...)
	if server == "mariadb" {
		c = exec.CommandContext(t.Context(), "mariadb", append([]string{"--no-defaults",
			"--protocol=tcp", "-h", s.mariadb.Host, "-P", s.mariadb.Port, "-u", "root", "-N", "-e"},
			question...)...)
	}
	c.Env = append(os.Environ(), "REDISCLI_AUTH="+serversPassword, "MYSQL_PWD="+serversPassword)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", server, err, out)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

func (s *servers) broker(t *testing.T, method, path, body string) []byte {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.rabbit.URL("/api/"+path),
		strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.SetBasicAuth("admin", serversPassword)
	a := sendRequest(t, http.DefaultClient, r)
	if a.status >= http.StatusBadRequest {
		t.Fatalf("%s: %s", path, a)
	}
	return []byte(a.body)
}
