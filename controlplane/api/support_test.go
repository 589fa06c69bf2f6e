package api_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
)

// fakeAgents answer for the agents of nodes.
type fakeAgents struct {
	mu     sync.Mutex
	files  []controlplane.DiagnosisFile
	levels []controlplane.LogLevel
	// asked is called while an agent sets a level; nil is nothing.
	asked func() error
}

func (a *fakeAgents) Diagnose(
	context.Context, controlplane.NodeID,
) ([]controlplane.DiagnosisFile, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.files == nil {
		return nil, errors.New("it does not answer")
	}
	return a.files, nil
}

func (a *fakeAgents) SetLogLevel(
	_ context.Context, _ controlplane.NodeID, l controlplane.LogLevel,
) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.levels = append(a.levels, l)
	if a.asked != nil {
		return a.asked()
	}
	return nil
}

// support returns the files of a support archive.
func (w *world) support(token string) map[string]string {
	w.t.Helper()
	a := w.call("POST", "/api/v1/support", token, nil)
	if a.status != http.StatusOK || !strings.Contains(a.header.Get("Content-Disposition"),
		"nullops-support-") {
		w.t.Fatalf("a support archive: %d %s", a.status, a.body)
	}
	unzipped := must(gzip.NewReader(bytes.NewReader(a.body)))(w.t)
	all, files := map[string]string{}, tar.NewReader(unzipped)
	for {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			w.t.Fatal(err)
		}
		text := must(io.ReadAll(files))(w.t)
		all[strings.TrimPrefix(h.Name, "nullops-support/")] = string(text)
	}
}

// plantSecrets stores a secret of every kind that people give, and has each of them in the log:
// as it is, and in encodings.
func (w *world) plantSecrets(root string) (planted map[string]string) {
	w.t.Helper()
	w.makeWebhook("hook", "http://127.0.0.1:9/"+hookSecret)
	w.makeRule("rule", "github", "")
	w.expect(http.StatusOK, "PUT", "/environments/qa/certificate-orders", root,
		object{"challenge": "dns-01", "directory": "https://acme.invalid/directory",
			"dns": "webhook", "dns_server": "https://hook.invalid", "dns_user": "u",
			"dns_secret": dnsSecret}, nil)
	const sshSecret = "canary-ssh-password-19cc"
	node := pgtest.QueryValue[string](w.t, w.database, "SELECT id FROM nodes WHERE name = 'node-1'")
	sealed := must(w.keys.SealSSH(controlplane.NodeID(node), []byte(sshSecret)))(w.t)
	pgtest.Exec(w.t, w.database, fmt.Sprintf(`INSERT INTO node_ssh (node_id, host, port, username,
		host_key, plan, credential) VALUES ('%s', 'h', 22, 'u', 'SHA256:' || repeat('a', 43), '{}',
		'\x%x')`, node, []byte(sealed)))
	planted = map[string]string{"a project's secret": projectSecret,
		"a registry's password": registrySecret, "webhook": hookSecret, "rule": ruleSecret,
		"a rule's token": ruleToken, "a credential for ordering certificates": dnsSecret,
		"an SSH credential": sshSecret, "what looks like a token of NullOps": root}
	for _, secret := range planted {
		for _, form := range []string{secret, url.QueryEscape(secret + "+/"),
			base64.StdEncoding.EncodeToString([]byte("u:" + secret))} {
			w.call("GET", "/api/v1/deployments/"+url.PathEscape(form), root, nil)
		}
	}
	return planted
}

// A support archive has what the processes know, and no secret of any kind: what was in a log is
// hidden, and the archive says where. Its parts do not stay in the database.
func TestSupport_HidesSecretsOfEveryKind(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	planted := w.plantSecrets(root)
	const key = "-----BEGIN PRIVATE KEY-----\nbm90IGEga2V5\n-----END PRIVATE KEY-----\n"
	w.agents.files = []controlplane.DiagnosisFile{
		{Name: "log.txt", Data: []byte("pulled with " + registrySecret + " \n" + key)},
		{Name: "settings.txt", Data: []byte("url = postgres://nullops:hunter2hunter2@db/nullops\n" +
			"Authorization: Bearer abcdefghijklmnop")}}
	files := w.support(root)
	for name, text := range files {
		for what, secret := range planted {
			// A token that is not stored is recognised by its form.
			encoded := base64.StdEncoding.EncodeToString([]byte("u:" + secret))
			if strings.Contains(text, secret) || secret != root && strings.Contains(text, encoded) {
				t.Errorf("%s holds %s", name, what)
			}
		}
		for _, shape := range []string{"bm90IGEga2V5", "hunter2hunter2", "abcdefghijklmnop"} {
			if strings.Contains(text, shape) {
				t.Errorf("%s holds %s", name, shape)
			}
		}
	}
	readme := files["README.txt"]
	for _, want := range []string{"nodes/node-1/log.txt: a registry's password",
		"processes/host_1_a_controlplane/log.txt: a project's secret",
		"an SSH credential", "a credential for ordering certificates",
		"nodes/node-1/log.txt: what looks like a private key",
		"nodes/node-1/settings.txt: what looks like a password in a URL"} {
		if !strings.Contains(readme, want) {
			t.Errorf("README.txt does not say %q:\n%s", want, readme)
		}
	}
	for name, want := range map[string]string{"versions.json": `"name": "node-1"`,
		"checks.json": `"alerts"`, "nodes/node-1/log.txt": "pulled with [secret]",
		"processes/host_1_a_controlplane/log.txt": `"operation":"getDeployment"`} {
		if !strings.Contains(files[name], want) {
			t.Errorf("%s does not hold %s: %.200s", name, want, files[name])
		}
	}
	if n := pgtest.QueryValue[int64](t, w.database, "SELECT count(*) FROM support_requests"); n != 0 {
		t.Errorf("%d requests are left", n)
	}
	w.agents.files = nil
	if readme := w.support(root)["README.txt"]; !strings.Contains(readme,
		"Missing: nodes/node-1: it does not answer") {
		t.Errorf("an agent that does not answer: %s", readme)
	}
}

// An archive that cannot be searched is not written, and the refusal says why.
func TestSupport_RefusesWhatCannotBeSearched(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	pgtest.Exec(t, w.database, `UPDATE registries SET password = '\x01026b31af'`)
	a := w.call("POST", "/api/v1/support", root, nil)
	if a.status != http.StatusServiceUnavailable || a.field("code") != "not_scanned" ||
		!strings.Contains(a.field("remedy"), "nullops keys list") {
		t.Errorf("an archive with a value that cannot be opened: %d %s", a.status, a.body)
	}
	a = w.call("POST", "/api/v1/support?node=nobody", w.token("root"), nil)
	if a.status == http.StatusOK {
		t.Error("a node that does not exist is left out without a word")
	}
}

// Another process adds its part, and one that does not is named.
func TestSupport_HasThePartsOfOtherProcesses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	pgtest.Exec(t, w.database, `INSERT INTO processes (id, role, release)
		VALUES ('host/2/b/ingress', 'ingress', 'v1')`)
	stop := make(chan struct{})
	answered := make(chan error, 1)
	go func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(50 * time.Millisecond):
			}
			var ids []string
			err := w.store.InTx(context.Background(), func(tx *postgres.Tx) (err error) {
				ctx, parts := context.Background(), tx.Diagnosis()
				ids, err = parts.ListRequests(ctx, "host/2/b/ingress")
				for _, id := range ids {
					err = errors.Join(err, parts.AddPart(ctx, id, "host/2/b/ingress",
						[]byte(`[{"name": "log.txt", "data": "aGVsbG8="}]`)))
				}
				return err
			})
			if err != nil || len(ids) > 0 {
				answered <- err
				return
			}
		}
	}()
	files := w.support(root)
	close(stop)
	if err := <-answered; err != nil {
		t.Fatal(err)
	}
	if files["processes/host_2_b_ingress/log.txt"] != "hello" {
		t.Errorf("the ingress is not part of it: %s", files["README.txt"])
	}
}

// A component logs more until a time, in the log itself; without an end, or of nothing, it is
// refused. An agent is told, and everything is in the audit.
func TestLogLevels(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	const path = "/api/v1/log-levels/"
	soon := time.Now().Add(time.Hour).Format(time.RFC3339)
	for want, body := range map[string]object{
		"level_without_end": {"level": "debug", "until": time.Now().Add(-time.Minute).Format(
			time.RFC3339)},
		"component_unknown": {"level": "debug", "until": soon, "node": "node-1"},
	} {
		if a := w.call("PUT", path+"fleet", root, body); a.field("code") != want {
			t.Errorf("%v: %d %s", body, a.status, a.body)
		}
	}
	far := object{"level": "debug", "until": time.Now().Add(8 * 24 * time.Hour).Format(time.RFC3339)}
	if a := w.call("PUT", path+"fleet", root, far); a.field("code") != "level_without_end" {
		t.Errorf("a level for ever: %d %s", a.status, a.body)
	}
	var set api.LogLevel
	w.expect(http.StatusOK, "PUT", "/log-levels/fleet", root,
		object{"level": "debug", "until": soon}, &set)
	w.expect(http.StatusOK, "PUT", "/log-levels/docker", root,
		object{"level": "debug", "until": soon, "node": "node-1"}, nil)
	if len(w.agents.levels) != 1 || w.agents.levels[0].Component != "docker" {
		t.Errorf("the agent was told %v", w.agents.levels)
	}
	// An agent that does not answer holds no transaction open, and nothing is stored of it.
	w.agents.asked = func() error {
		// Somebody else's transaction ends by itself meanwhile; one that waits for the agent does not.
		open := int64(1)
		for end := time.Now().Add(10 * time.Second); open > 0 && time.Now().Before(end); {
			open = pgtest.QueryValue[int64](t, w.database, `SELECT count(*) FROM pg_stat_activity
				WHERE datname = current_database() AND state LIKE 'idle in transaction%'`)
		}
		if open > 0 {
			t.Errorf("%d transactions wait for an agent", open)
		}
		return controlplane.NewInvalidError("node", "node_offline", "it does not answer", "Wait.")
	}
	for _, a := range []answer{w.call("DELETE", path+"docker?node=node-1", root, nil),
		w.call("PUT", path+"docker", root, object{"level": "warn", "until": soon, "node": "node-1"})} {
		if a.field("code") != "node_offline" {
			t.Errorf("an agent that does not answer: %d %s", a.status, a.body)
		}
	}
	w.agents.asked = nil
	w.logs.Logger().With("component", "fleet").Debug("fleet says more")
	w.logs.Logger().With("component", "jobs").Debug("jobs say more")
	if said := w.log.String(); !strings.Contains(said, "fleet says more") ||
		strings.Contains(said, "jobs say more") {
		t.Error("the level is not that of fleet alone")
	}
	var all api.LogLevelList
	w.expect(http.StatusOK, "GET", "/log-levels", root, nil, &all)
	if len(all.Items) != 2 || strings.Contains(fmt.Sprint(all.Items), "warn") ||
		all.Items[0].SetBy != "root" || len(all.Components) < 10 {
		t.Errorf("listed %+v", all)
	}
	w.expect(http.StatusNoContent, "DELETE", "/log-levels/fleet", root, nil, nil)
	w.expect(http.StatusNotFound, "DELETE", "/log-levels/fleet", root, nil, nil)
	w.logs.Logger().With("component", "fleet").Debug("fleet says it again")
	if strings.Contains(w.log.String(), "fleet says it again") {
		t.Error("the level does not end")
	}
	entries := pgtest.QueryValue[int64](t, w.database, `SELECT count(*) FROM audit
		WHERE action LIKE '%log level' AND result = 'ok'`)
	if entries != 3 {
		t.Errorf("%d entries are in the audit", entries)
	}
}
