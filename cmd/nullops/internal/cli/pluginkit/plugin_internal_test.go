package pluginkit

import (
	"bytes"
	"encoding/base64"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/internal/testpart"
)

// runPlugin runs 'nullops plugin …' and returns what it printed.
func runPlugin(t *testing.T, args ...string) (string, error) {
	t.Helper()
	c := Command()
	c.SilenceErrors, c.SilenceUsage = true, true
	var out bytes.Buffer
	c.SetOut(&out)
	c.SetErr(&out)
	c.SetIn(strings.NewReader("from-stdin\n"))
	c.SetArgs(args)
	err := c.ExecuteContext(t.Context())
	return out.String(), err
}

// scaffoldPlugin makes a plugin and returns its folder.
func scaffoldPlugin(t *testing.T, language string) string {
	t.Helper()
	// Layers are cached apart, but Go need not compile its library again.
	compiled, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOCACHE", strings.TrimSpace(string(compiled)))
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir := filepath.Join(t.TempDir(), "greet")
	if out, err := runPlugin(t, "init", dir, "--lang", language); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

func TestPluginInit_MakesAValidPluginInEachLanguage(t *testing.T) {
	for _, language := range []string{"go", "python", "shell"} {
		dir := scaffoldPlugin(t, language)
		out, err := runPlugin(t, "validate", dir)
		if err != nil || !strings.Contains(out, "is valid: 4 recorded inputs") {
			t.Errorf("%s: %v\n%s", language, err, out)
		}
		if _, err := runPlugin(t, "init", dir); err == nil {
			t.Errorf("%s: a folder that is there was written over", language)
		}
	}
}

// Each fault is named with its place; one run shows them all.
func TestPluginValidate_NamesEachFault(t *testing.T) {
	dir := scaffoldPlugin(t, "python")
	component := `{"description":"","actions":["create"],"timeout_seconds":90000,
		"parameters":{"type":"object","required":["name"],
			"properties":{"name":{"type":"string"},"size":{"type":"integer","default":"big"}}},
		"outputs":{"type":"objekt"},
		"secrets":[{"name":"a"},{"name":"a"}]}`
	writeText(t, filepath.Join(dir, "component.json"), component)
	writeText(t, filepath.Join(dir, "testdata", "05-wrong.in.json"),
		`{"action":"create","parameters":{"name":7}}`)
	out, err := runPlugin(t, "validate", dir)
	if err == nil {
		t.Error("it is valid")
	}
	for _, want := range []string{"description is missing", `lacks "delete"`, "at most 86400",
		`the default of "size"`, "outputs: the schema must be of an object", "secrets[1]",
		"testdata/05-wrong: parameters do not fit the schema"} {
		if !strings.Contains(out, want) {
			t.Errorf("no word of %q in\n%s", want, out)
		}
	}
}

func writeText(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Two builds, from two places and with two caches, produce the same bytes.
func TestPluginBuild_IsReproducible(t *testing.T) {
	testpart.Rotate(t)
	var images [2][]byte
	for i := range images {
		dir := scaffoldPlugin(t, "go")
		file := filepath.Join(t.TempDir(), "image.tar")
		out, err := runPlugin(t, "build", dir, "--tag", "127.0.0.1:5000/plugins/greet:1", "--out", file)
		if err != nil || !strings.Contains(out, "greet:1@sha256:") {
			t.Fatalf("%v\n%s", err, out)
		}
		if images[i], err = os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(images[0], images[1]) {
		t.Error("two builds of the same source differ")
	}
}

// ownRegistry is one for this test, which anybody may use unless asked who it is.
func ownRegistry(t *testing.T, knows func(user, password string) bool) (host string) {
	t.Helper()
	inner := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if knows != nil && !knows(user, password) {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// A registry that requires credentials gets them from the environment, standard input, or Docker's
// stored logins, and its refusal is shown. A script is built on an existing image.
func TestPluginPush_SignsIn(t *testing.T) {
	testpart.Rotate(t)
	host := ownRegistry(t, func(user, password string) bool {
		return user == "me" && strings.HasPrefix(password, "from-")
	})
	ref := host + "/plugins/greet:1"
	dir, file := scaffoldPlugin(t, "go"), filepath.Join(t.TempDir(), "image.tar")
	if out, err := runPlugin(t, "build", dir, "--tag", ref, "--out", file); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	_, err := runPlugin(t, "push", ref, "--file", file)
	if err == nil || !strings.Contains(err.Error(), "refuses the credentials") {
		t.Errorf("without credentials: %v", err)
	}
	out, err := runPlugin(t, "push", ref, "--file", file, "--registry-user", "me", "--password-stdin")
	if err != nil || !strings.Contains(out, "@sha256:") {
		t.Errorf("with a password on standard input: %v\n%s", err, out)
	}
	kept := t.TempDir()
	t.Setenv("DOCKER_CONFIG", kept)
	writeText(t, filepath.Join(kept, "config.json"), `{"auths":{"`+host+`":{"auth":"`+
		base64.StdEncoding.EncodeToString([]byte("me:from-login"))+`"}}}`)
	out, err = runPlugin(t, "push", ref, "--file", file)
	if err != nil {
		t.Errorf("with what 'docker login' keeps: %v\n%s", err, out)
	}
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	t.Setenv("NULLOPS_REGISTRY_USER", "me")
	t.Setenv("NULLOPS_REGISTRY_PASSWORD", "from-env")
	script := scaffoldPlugin(t, "shell")
	if _, err := runPlugin(t, "build", script, "--tag", ref, "--push"); err == nil {
		t.Error("a script without an interpreter was built")
	}
	out, err = runPlugin(t, "build", script, "--from", ref, "--tag", ref+"-script", "--push")
	if err != nil {
		t.Errorf("a script on an image: %v\n%s", err, out)
	}
}

// A recorded answer that is wrong is found.
func TestPluginTest_ComparesWithTheRecordedAnswer(t *testing.T) {
	engine, dir := dockertest.Host(t), scaffoldPlugin(t, "go")
	writeText(t, filepath.Join(dir, "testdata", "01-create.out.json"),
		`{"success":true,"output":"greeted mars","outputs":"<any>"}`)
	out, err := runPlugin(t, "test", dir, "--docker", engine)
	if err == nil || !strings.Contains(out, "greeted world instead of greeted mars") {
		t.Errorf("a wrong answer passes: %v\n%s", err, out)
	}
}
