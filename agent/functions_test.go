package agent_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/dummy"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
	"github.com/nullops/nullops/plugins/stdio"
)

// token is a secret output which lower changes, so that no masker that knows
// only the token finds what lower made of it.
const token = "Token-Of The/Plugin"

// functionsGoal is the shop with functions wherever references may stand.
func functionsGoal() wire.Goal {
	g := shopGoal("d1")
	making := g.Pipeline.Steps[1].Plugin
	making.Component.Outputs = map[string]any{"type": "object", "properties": map[string]any{
		"token": map[string]any{"type": "string", "writeOnly": true}}}
	making.Parameters["key"] = "${{ base64(secrets.password) }}"
	making.Secrets["dsn"] = "postgres://${{ lower(deployment.name) }}:" +
		"${{ urlencode(secrets.password) }}@${{ services.db.host }}/x"
	web := g.Pipeline.Steps[2].Service
	web.Entrypoint = []string{"run", "${{ urlencode(deployment.name) }}"}
	web.Command = []string{"serve", "${{ urlencode(deployment.name) }}"}
	web.User, web.Init, web.ReadOnly = "1000", true, true
	web.StopSignal, web.StopGraceSeconds = "SIGINT", 3
	web.Tmpfs = []pipeline.Tmpfs{{Path: "/tmp", SizeMiB: 8}}
	web.ExtraHosts = []pipeline.ExtraHost{{Name: "mail", Address: "192.0.2.1"}}
	web.Env = map[string]string{"URL": "a ${{ urlencode(steps.make.outputs.token) }}",
		"LOWER": "${{ lower(steps.make.outputs.token) }}",
		"PORT":  "${{ json(services.db.port) }}"}
	web.Files = []pipeline.File{{Path: "/a", Content: `{"t":${{ json(secrets.password) }}}`}}
	return g
}

// What a function makes of a secret is as secret: the process gets it without the engine seeing it,
// and it is masked in every log.
func TestAgent_FunctionsOfSecretsStaySecret(t *testing.T) {
	requests := make(chan stdio.Request, 4)
	r := dummy.New(dummy.Hooks{Plugin: func(_ context.Context, _ agent.PluginSpec, in []byte,
		line func(string)) agent.PluginResult {
		var request stdio.Request
		if err := json.Unmarshal(in, &request); err != nil {
			return agent.PluginResult{ExitCode: 2}
		}
		requests <- request
		line("open " + request.Secrets["dsn"])
		return agent.PluginResult{Stdout: []byte(
			`{"success":true,"outputs":{"token":"` + token + `"}}`)}
	}})
	p := newPlane(t)
	n := p.boot(t.TempDir(), r, nil)
	p.want(n.connect(), functionsGoal())
	p.untilPhase("d1", wire.PhaseReady)
	checkPluginInput(t, <-requests)
	checkServiceInput(t, r)
	p.until("the plugin's line", func() bool { return len(p.lines) > 0 })
	p.update(func() {
		if got := p.lines[0].Text; got != "open postgres://login:[secret]@db/x" {
			t.Errorf("the plugin's line is %q", got)
		}
	})
	r.AppendLog("d1", "web", "using "+strings.ToLower(token)+" and Token-Of%20The%2FPlugin")
	if got := n.readLog(t, "web"); !strings.HasSuffix(got, "using [secret] and [secret]\n") {
		t.Errorf("the service's log is %q", got)
	}
}

func checkPluginInput(t *testing.T, got stdio.Request) {
	t.Helper()
	if want := "postgres://login:" + password + "@db/x"; got.Secrets["dsn"] != want {
		t.Errorf("the plugin got %q, want %q", got.Secrets["dsn"], want)
	}
	want := base64.StdEncoding.EncodeToString([]byte(password))
	if got.Parameters["key"] != want {
		t.Errorf("the plugin got %v, want %q", got.Parameters["key"], want)
	}
}

func checkServiceInput(t *testing.T, r *dummy.Runtime) {
	t.Helper()
	web, _ := r.Service("d1", "web")
	if web.SecretEnv["URL"] != "a Token-Of%20The%2FPlugin" ||
		web.SecretEnv["LOWER"] != strings.ToLower(token) || len(web.SecretEnv) != 2 ||
		len(web.Env) != 1 || web.Env["PORT"] != "5432" {
		t.Errorf("web got env %v, secret env %v", web.Env, web.SecretEnv)
	}
	if len(web.Command) != 2 || web.Command[1] != "login" {
		t.Errorf("web got the command %q", web.Command)
	}
	process := []any{web.Entrypoint, web.User, web.Init, web.ReadOnly, web.StopSignal,
		web.StopGrace, web.Tmpfs, web.ExtraHosts}
	if diff := cmp.Diff([]any{[]string{"run", "login"}, "1000", true, true, "SIGINT",
		3 * time.Second, []pipeline.Tmpfs{{Path: "/tmp", SizeMiB: 8}},
		[]pipeline.ExtraHost{{Name: "mail", Address: "192.0.2.1"}}}, process); diff != "" {
		t.Errorf("web got another process than the step says: %s", diff)
	}
	if len(web.Files) != 1 || web.Files[0].Content != `{"t":"`+password+`"}` {
		t.Errorf("web got the files %v", web.Files)
	}
}

// readLog reads a service's log as people do.
func (n *node) readLog(t *testing.T, service string) string {
	t.Helper()
	client := &http.Client{Transport: wire.NewTransport(
		func(ctx context.Context) (net.Conn, error) { return n.dial(ctx) })}
	answer, err := client.Get("http://agent/v1/deployments/d1/services/" + service + "/logs?tail=1")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
