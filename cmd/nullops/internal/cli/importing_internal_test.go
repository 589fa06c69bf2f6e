package cli

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/documents"
	"github.com/nullops/nullops/pipeline/compose"
)

// What import writes is what apply reads, with the registries that are there
// under their names and the others as documents of their own.
func TestWriteImport(t *testing.T) {
	found, err := compose.Read(t.Context(), []byte(`services:
  db: {image: "postgres:15", expose: ["5432"]}
  migrate: {image: "postgres:15", restart: "no", depends_on: [db]}
  web: {image: "registry.example.org:5000/shop/web:1", ports: ["80:8080"], depends_on: [db],
    secrets: [key]}
secrets: {key: {file: ./key}}
`))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err = writeImport(&out, "shop", found, []apiclient.Registry{{Name: "docker-hub",
		Host: "docker.io"}})
	if err != nil {
		t.Fatal(err)
	}
	docs, problems := documents.Parse("shop.yaml", out.Bytes())
	if len(problems) > 0 {
		t.Fatalf("%v\n%s", problems, out.String())
	}
	var all []string
	for _, d := range docs {
		all = append(all, d.String())
	}
	want := "registry registry-example-org-5000,service shop-db,service shop-migrate," +
		"service shop-web,project shop"
	if got := strings.Join(all, ","); got != want {
		t.Errorf("documents are %s, want %s", got, want)
	}
	for _, part := range []string{"registry: docker-hub", "from_env: KEY", "cpu: 1.5\n",
		"name: shop-web", "- job:\n        name: shop-migrate"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("%q is missing:\n%s", part, out.String())
		}
	}
}

// importFrom runs the command in a folder with these files, against a control
// plane that knows no registry.
func importFrom(t *testing.T, files map[string]string, args ...string) (
	out, errs string, err error) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"items":[]}`)
	}))
	defer server.Close()
	t.Setenv("NULLOPS_CLI_URL", server.URL)
	t.Setenv("NULLOPS_CLI_TOKEN", "x")
	t.Chdir(t.TempDir())
	for name, text := range files {
		if err := os.WriteFile(filepath.Clean(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var o, e bytes.Buffer
	c := importCommand()
	c.SilenceUsage, c.SilenceErrors = true, true
	c.SetOut(&o)
	c.SetErr(&e)
	c.SetArgs(append(args, "--project", "shop"))
	err = c.ExecuteContext(t.Context())
	return o.String(), e.String(), err
}

// Several files are merged as Compose does, and variables have the values of the flags; --set takes
// precedence.
func TestImport_MergesFilesAndFillsVariables(t *testing.T) {
	t.Setenv("SHELL_ONLY", "canary-variable")
	out, errs, err := importFrom(t, map[string]string{
		"compose.yaml": `services:
  web:
    image: shop/web:${TAG:-none}
    environment: {A: "${A}", B: "${B}", C: "${C}", D: "${SHELL_ONLY:-unset}", E: }
    ports: ["8080"]
    privileged: true
`,
		"more.yaml": `services:
  web:
    environment: {C: replaced}
    ports: ["9090"]
    pid: host
  db: {image: "postgres:${PG:?name a version}"}
`,
		"one.env": "TAG=1.2\nA=one\nB=one\nPG=15\nE='given # here'\n",
		"two.env": "# later\nB=\"two $A\"\nTAG=1.3\n",
	}, "-f", "compose.yaml", "--file", "more.yaml", "--env-file", "one.env", "--env-file", "two.env",
		"--set", "A=set")
	if err != nil {
		t.Fatalf("%v\n%s", err, errs)
	}
	for _, want := range []string{`tag: "1.3"`, "A: set\n", "B: two set\n", "C: replaced\n",
		"D: unset\n", "E: 'given # here'\n", `tag: "15"`, "port: 8080", "port: 9090"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing:\n%s", want, out)
		}
	}
	for _, want := range []string{"compose.yaml:6: web privileged: this is not carried over",
		"more.yaml:5: web pid: this is not carried over",
		"compose.yaml:4: web the variable C has no value here",
		"compose.yaml:4: web the variable SHELL_ONLY has no value here"} {
		if !strings.Contains(errs, want) {
			t.Errorf("%q is missing:\n%s", want, errs)
		}
	}
	if strings.Contains(errs, "variable A ") || strings.Contains(errs, "variable TAG ") ||
		strings.Contains(out+errs, "canary-variable") {
		t.Errorf("a variable has another value than was given:\n%s", errs)
	}
}

// Every refusal says where its cause is, and none repeats a value of a file of
// variables.
func TestImport_RefusalsNameServiceAndLine(t *testing.T) {
	for _, c := range []struct {
		files map[string]string
		args  []string
		want  string
	}{
		{map[string]string{"a.yaml": "services:\n  web:\n    image: x:${TAG:?choose one}\n"},
			[]string{"a.yaml"}, "a.yaml:3: service web: "},
		{map[string]string{"a.yaml": "services:\n  web: {image: x}\n",
			"b.yaml": "services:\n\n  web:\n    ports: [\"x:y\"]\n"},
			[]string{"-f", "a.yaml", "-f", "b.yaml"}, "b.yaml:4: service web: "},
		{map[string]string{"a.yaml": "services:\n  my.web:\n    image: [x]\n"}, []string{"a.yaml"},
			"a.yaml:3: service my.web: "},
		{map[string]string{"a.yaml": "services:\n  web:\n    image: x\n    depends_on: [db]\n"},
			[]string{"a.yaml"}, "a.yaml:4: service web: "},
		{map[string]string{"a.yaml": "services:\n  web:\n    image: x\n    mem_limit: lots\n"},
			[]string{"a.yaml"}, "a.yaml:4: service web: "},
		{map[string]string{"a.yaml": "services:\n  web:\n    image: x\n  web: {image: y}\n"},
			[]string{"a.yaml"}, "a.yaml:4: service web: "},
		{map[string]string{"a.yaml": "services:\n  web:\n    build: .\n"}, []string{"a.yaml"},
			"a.yaml:2: service web: "},
		{map[string]string{"a.yaml": "services:\n  web:\n   image: x\n  b: }\n"}, []string{"a.yaml"},
			// The library is off by a line here.
			"a.yaml:3: this is no YAML: "},
		{map[string]string{"a.yaml": "services: {web: {image: x}}\n", "x.env": "A=1\nB \"canary\n"},
			[]string{"a.yaml", "--env-file", "x.env"}, "--env-file: x.env:2: "},
		{map[string]string{"a.yaml": "services: {web: {image: x}}\n", "x.env": "A=\"canary\n"},
			[]string{"a.yaml", "--env-file", "x.env"}, "--env-file: x.env:"},
		{nil, []string{"a.yaml", "--set", "canary"}, "--set: write NAME=VALUE"},
	} {
		_, _, err := importFrom(t, c.files, c.args...)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) ||
			strings.Contains(err.Error(), "canary") {
			t.Errorf("%v: %v, want %s", c.files, err, c.want)
		}
	}
}
