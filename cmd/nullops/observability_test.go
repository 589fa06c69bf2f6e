package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// composed is what matters of a Compose file after Compose has read it.
type composed struct {
	Services map[string]struct {
		Image       string
		Environment map[string]string
		Volumes     []string
		Ports       []any
	}
}

// The Compose file of deploy/observability fits the one of NullOps: Compose reads both, every file
// that it mounts is there, and Prometheus takes its configuration with all rules. Images cannot be
// pulled where tests run, so it is not started.
func TestObservability_ComposeFile(t *testing.T) {
	t.Parallel()
	dir := copyDeploy(t)
	all := readComposed(t, dir, "deploy/observability/compose.yaml")
	for _, name := range []string{"controlplane", "ingress"} {
		env := all.Services[name].Environment
		if env["NULLOPS_METRICS_LISTEN"] != ":9100" ||
			env["OTEL_EXPORTER_OTLP_ENDPOINT"] != "http://traces:4318" {
			t.Errorf("%s does not show its metrics and traces: %v", name, env)
		}
	}
	for _, name := range []string{"prometheus", "grafana", "traces"} {
		service, there := all.Services[name]
		if !there || !strings.Contains(service.Image, ":") {
			t.Errorf("there is no service %s, or its image has no tag", name)
		}
		for _, volume := range service.Volumes {
			from, _, _ := strings.Cut(volume, ":")
			if !strings.HasPrefix(from, "/") {
				continue // a volume of its own
			}
			if _, err := os.Stat(from); err != nil {
				t.Errorf("%s mounts what is not there: %v", name, err)
			}
		}
	}
	config, err := os.ReadFile("../../deploy/observability/prometheus.yaml")
	if err != nil {
		t.Fatal(err)
	}
	rules, err := filepath.Abs("../../deploy/observability/rules")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "prometheus.yaml")
	writeFile(t, file, strings.ReplaceAll(string(config), "/etc/prometheus/rules", rules), 0o600)
	said, err := exec.CommandContext(t.Context(), "promtool", "check", "config", file).CombinedOutput()
	if err != nil || !strings.Contains(string(said), "rules found") {
		t.Errorf("promtool check config: %v\n%s", err, said)
	}
}

// copyDeploy copies deploy/ beside nothing else, as on a server.
func copyDeploy(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "deploy"), os.DirFS("../../deploy")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// readComposed has Compose read deploy/compose.yaml with a file that adds to it.
func readComposed(t *testing.T, dir, more string) (all composed) {
	t.Helper()
	c := exec.CommandContext(t.Context(), "docker-compose", "-f", "deploy/compose.yaml", "-f", more,
		"config")
	c.Dir = dir
	c.Env = append(os.Environ(), "NULLOPS_GRAFANA_PASSWORD=secret")
	var said strings.Builder
	c.Stderr = &said
	out, err := c.Output()
	if err != nil {
		t.Fatalf("docker-compose config: %v\n%s", err, said.String())
	}
	if err := yaml.Unmarshal(out, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// What deploy/README.md adds to the Compose file is read with it: the ingress gets the sockets of
// the agent beside it.
func TestDocs_ComposeOverrideIsRead(t *testing.T) {
	t.Parallel()
	dir := copyDeploy(t)
	blocks := regexp.MustCompile("(?ms)^```yaml\n(.*?)^```").FindAllStringSubmatch(
		readFile(t, "../../deploy/README.md"), -1)
	if len(blocks) != 1 {
		t.Fatalf("deploy/README.md has %d blocks of YAML; this test knows one", len(blocks))
	}
	writeFile(t, filepath.Join(dir, "deploy", "compose.override.yaml"), blocks[0][1], 0o644)
	ingress := readComposed(t, dir, "deploy/compose.override.yaml").Services["ingress"]
	// promise: D-02
	if ingress.Environment["NULLOPS_INGRESS_SOCKETS"] != "/sockets" ||
		!slices.ContainsFunc(ingress.Volumes, func(v string) bool {
			return strings.HasPrefix(v, "/run/nullops-ingress:/sockets")
		}) || ingress.Environment["NULLOPS_INGRESS_FILE"] == "" {
		t.Errorf("the ingress is %+v", ingress)
	}
}
