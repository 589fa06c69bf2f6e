package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane/apiclient"
)

// person speaks to the API with a token of theirs.
type person struct {
	p     *product
	name  string
	token string
	api   *apiclient.ClientWithResponses
}

// signIn trades name and password for a token.
func (p *product) signIn(t *testing.T, name, password string) *person {
	t.Helper()
	who := &person{p: p, name: name}
	var made apiclient.TokenCreated
	who.want(t, http.StatusCreated, http.MethodPost, "/tokens",
		object{"user": name, "password": password, "name": "e2e"}, &made)
	who.token = made.Token
	api, err := apiclient.NewClientWithResponses(p.url, apiclient.WithRequestEditorFn(
		func(_ context.Context, r *http.Request) error {
			r.Header.Set("Authorization", "Bearer "+who.token)
			return nil
		}))
	if err != nil {
		t.Fatal(err)
	}
	who.api = api
	return who
}

// cli runs the command line as this person.
func (who *person) cli(t *testing.T, args ...string) (out, errs string, code int) {
	t.Helper()
	return runCommand(t, who.p.w.binary, []string{"NULLOPS_CLI_URL=" + who.p.url,
		"NULLOPS_CLI_TOKEN=" + who.token, "XDG_CONFIG_HOME=" + filepath.Join(who.p.dir, "none")},
		"", args...)
}

// answer is an HTTP response, read to its end.
type answer struct {
	status int
	header http.Header
	body   string
}

// String is never empty, as eventually needs it.
func (a answer) String() string {
	return formatNumber(a.status) + " " + a.header.Get("Nullops-Page") + " " + a.body
}

func sendRequest(t *testing.T, client *http.Client, r *http.Request) answer {
	t.Helper()
	response, err := client.Do(r)
	if err != nil {
		return answer{status: -1, body: err.Error()}
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, 16<<20))
	if err != nil {
		return answer{status: -1, body: err.Error()}
	}
	return answer{status: response.StatusCode, header: response.Header, body: string(body)}
}

func dialTo(d *net.Dialer, address string) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		return d.DialContext(ctx, "tcp", address)
	}
}

// ask sends a request. A string body is sent as it is.
func (who *person) ask(t *testing.T, method, path string, body any, header ...string) answer {
	t.Helper()
	var content io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		content = strings.NewReader(b)
	default:
		text, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		content = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, who.p.url+"/api/v1"+path, content)
	if err != nil {
		t.Fatal(err)
	}
	if content != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if who.token != "" {
		r.Header.Set("Authorization", "Bearer "+who.token)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return sendRequest(t, &http.Client{Timeout: patience}, r)
}

// want asks, and fails the test when the status is another.
func (who *person) want(t *testing.T, status int, method, path string, body, into any) answer {
	t.Helper()
	a := who.ask(t, method, path, body)
	if a.status != status {
		t.Fatalf("%s %s as %s: %d, wanted %d: %s", method, path, who.name, a.status, status, a.body)
	}
	if into != nil {
		if err := json.Unmarshal([]byte(a.body), into); err != nil {
			t.Fatalf("%s %s: %v", method, path, err)
		}
	}
	return a
}

func (who *person) get(t *testing.T, path string, into any) {
	t.Helper()
	who.want(t, http.StatusOK, http.MethodGet, path, nil, into)
}

func (who *person) put(t *testing.T, path string, body, into any) {
	t.Helper()
	who.want(t, http.StatusOK, http.MethodPut, path, body, into)
}

// expectProblem asks for something wrong. The refusal must be one problem that says
// what it is, and the texts must be in it.
func (who *person) expectProblem(t *testing.T, status int, method, path string, body any,
	says ...string) apiclient.Problem {
	t.Helper()
	a := who.ask(t, method, path, body)
	var p apiclient.Problem
	if status == anyRefusal && a.status >= 400 && a.status < 500 {
		status = a.status
	}
	if err := json.Unmarshal([]byte(a.body), &p); err != nil || a.status != status {
		t.Errorf("%s %s as %s: %d, wanted %d: %s", method, path, who.name, a.status, status, a.body)
		return p
	}
	if p.Code == "" || p.Title == "" || p.RequestId == "" || p.Status != status ||
		!strings.HasPrefix(a.header.Get("Content-Type"), "application/problem+json") {
		t.Errorf("%s %s: the problem is incomplete: %s", method, path, a.body)
	}
	for _, text := range says {
		if !strings.Contains(a.body, text) {
			t.Errorf("%s %s: the problem does not say %q: %s", method, path, text, a.body)
		}
	}
	return p
}

// deploy creates a deployment.
func (who *person) deploy(t *testing.T, project, name string,
	versions map[string]string) apiclient.Deployment {
	t.Helper()
	var d apiclient.Deployment
	body := object{"name": name, "project": project, "environment": "qa"}
	if len(versions) > 0 {
		body["versions"] = versions
	}
	who.want(t, http.StatusCreated, http.MethodPost, "/deployments", body, &d)
	return d
}

// deployReady creates a deployment and waits until it is ready.
func (who *person) deployReady(t *testing.T, project, name string,
	versions map[string]string) apiclient.Deployment {
	t.Helper()
	d := who.deploy(t, project, name, versions)
	return who.await(t, d.Id, apiclient.DeploymentStatusReady)
}

func (who *person) deployment(t *testing.T, id string) (d apiclient.Deployment) {
	t.Helper()
	who.get(t, "/deployments/"+id, &d)
	return d
}

func (who *person) run(t *testing.T, d apiclient.Deployment) (r apiclient.Run) {
	t.Helper()
	return who.runNumber(t, d.Id, d.Run)
}

// await waits for one of the statuses, and fails at once when the deployment
// settles in another.
func (who *person) await(t *testing.T, id string,
	statuses ...apiclient.DeploymentStatus) apiclient.Deployment {
	t.Helper()
	var d apiclient.Deployment
	first := who.deployment(t, id).Status
	eventually(t, "deployment is "+string(statuses[0]), func() string {
		d = who.deployment(t, id)
		if slices.Contains(statuses, d.Status) {
			return ""
		}
		if isSettled(d.Status) && d.Status != first {
			t.Fatalf("deployment %s is %s:\n%s", d.Name, d.Status, who.describe(t, d))
		}
		return who.describe(t, d)
	})
	return d
}

func isSettled(s apiclient.DeploymentStatus) bool {
	switch s {
	case apiclient.DeploymentStatusQueued, apiclient.DeploymentStatusApplying,
		apiclient.DeploymentStatusUndoing, apiclient.DeploymentStatusRemoving:
		return false
	}
	return true
}

// describe says all about the latest run, for failures.
func (who *person) describe(t *testing.T, d apiclient.Deployment) string {
	t.Helper()
	var b strings.Builder
	e := json.NewEncoder(&b)
	_ = e.Encode(d)
	for _, s := range who.run(t, d).Steps {
		_ = e.Encode(s)
		log := who.stepLog(t, d, s.Key)
		for _, line := range log[max(0, len(log)-5):] {
			b.WriteString("    " + line + "\n")
		}
	}
	return b.String()
}

// stepLog is what a step of the latest run wrote.
func (who *person) stepLog(t *testing.T, d apiclient.Deployment, step string) []string {
	t.Helper()
	a := who.ask(t, http.MethodGet, "/deployments/"+d.Id+"/runs/"+formatNumber(d.Run)+"/steps/"+step+
		"/log?limit=5000", nil)
	var list apiclient.LogLineList
	if err := json.Unmarshal([]byte(a.body), &list); err != nil || a.status != http.StatusOK {
		t.Fatalf("log of step %s: %d %s", step, a.status, a.body)
	}
	var lines []string
	for _, l := range list.Items {
		lines = append(lines, l.Text)
	}
	return lines
}

// remove asks for the removal and waits for its end.
func (who *person) remove(t *testing.T, id string) apiclient.Deployment {
	t.Helper()
	who.want(t, http.StatusAccepted, http.MethodDelete, "/deployments/"+id, nil, nil)
	return who.await(t, id, apiclient.DeploymentStatusRemoved, apiclient.DeploymentStatusCanceled)
}

// findStep finds a step of a run.
func findStep(t *testing.T, r apiclient.Run, key string) apiclient.Step {
	t.Helper()
	for _, s := range r.Steps {
		if s.Key == key {
			return s
		}
	}
	t.Fatalf("run %d has no step %s", r.Number, key)
	return apiclient.Step{}
}

// serviceURL is where a service of a deployment answers.
func serviceURL(t *testing.T, d apiclient.Deployment, key string) string {
	t.Helper()
	for _, s := range d.Services {
		if s.Step == key && s.Url != nil {
			return *s.Url
		}
	}
	t.Fatalf("deployment %s has no URL for %s", d.Name, key)
	return ""
}
