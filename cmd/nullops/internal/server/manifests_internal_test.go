package server

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/nullops/nullops/cmd/nullops/internal/exit"
)

// manifestObject is what a test needs of a Deployment or a ConfigMap.
type manifestObject struct {
	Kind string            `yaml:"kind"`
	Data map[string]string `yaml:"data"`
	Spec struct {
		Template struct {
			Spec struct {
				InitContainers []manifestContainer `yaml:"initContainers"`
				Containers     []manifestContainer `yaml:"containers"`
			} `yaml:"spec"`
		} `yaml:"template"`
	} `yaml:"spec"`
}

type manifestContainer struct {
	Name string   `yaml:"name"`
	Args []string `yaml:"args"`
	Env  []struct {
		Name  string `yaml:"name"`
		Value string `yaml:"value"`
	} `yaml:"env"`
}

func readManifest(t *testing.T, name string) (all []manifestObject) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../../../deploy/manifests", name))
	if err != nil {
		t.Fatal(err)
	}
	from := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var o manifestObject
		if err := from.Decode(&o); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, o)
	}
}

// What the charts tell their containers are settings that the programs take.
func TestManifests_HaveSettingsThatExist(t *testing.T) {
	t.Parallel()
	secrets := t.TempDir()
	for _, name := range []string{"master_keys", "ingress_keys"} {
		key := "k1:" + strings.Repeat("A", 43) + "="
		if err := os.WriteFile(filepath.Join(secrets, name), []byte(key), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	checks := map[string]func(Settings) error{"controlplane": Settings.checkControlPlane,
		"ingress": Settings.checkIngress, "migrate": func(Settings) error { return nil }}
	for _, o := range readManifest(t, "nullops.yaml") {
		pod := o.Spec.Template.Spec
		for _, c := range append(pod.InitContainers, pod.Containers...) {
			var environ []string
			for _, e := range c.Env {
				value := strings.ReplaceAll(e.Value, "$(POD_IP)", "10.0.0.1")
				if strings.HasPrefix(value, "/secrets/") {
					value = strings.Replace(value, "/secrets", secrets, 1)
				}
				environ = append(environ, e.Name+"="+value)
			}
			s, err := loadSettings(nil, environ)
			if err != nil {
				t.Errorf("%s: %v", c.Name, err)
				continue
			}
			check := checks[c.Args[0]]
			if check == nil {
				t.Fatalf("%s runs %q", c.Name, c.Args)
			}
			delete(checks, c.Args[0])
			if err := check(s); err != nil {
				t.Errorf("%s: %v", c.Name, err)
			}
		}
	}
	if len(checks) > 0 {
		t.Errorf("no container runs %v", checks)
	}
	for _, file := range []string{"nullops-agent.yaml", "testdata/connect.yaml",
		"testdata/nodeport.yaml"} {
		checkAgentManifest(t, file)
	}
}

func checkAgentManifest(t *testing.T, file string) {
	t.Helper()
	for _, o := range readManifest(t, file) {
		if o.Kind != "ConfigMap" {
			continue
		}
		environ := []string{"AGENT_TOKEN=x"}
		for name, value := range o.Data {
			environ = append(environ, name+"="+value)
		}
		s, err := loadSettings(nil, environ)
		if err == nil {
			err = s.checkAgent()
		}
		if err != nil || s.Agent.Runtime != runtimeKubernetes {
			t.Errorf("%s: runtime %q, %v", file, s.Agent.Runtime, err)
		}
		return
	}
	t.Errorf("%s has no ConfigMap", file)
}

// The command takes the flags that 'node add --kubernetes' prints, and prints nothing of what
// cannot work.
func TestAgentManifest_TakesTheFlagsOfTheLine(t *testing.T) {
	t.Parallel()
	run := func(flags ...string) (string, error) {
		var out strings.Builder
		c := agentManifest()
		c.SilenceErrors, c.SilenceUsage = true, true
		c.SetArgs(append([]string{"--name=nullops-qa", "--image=registry.test/agent:1"}, flags...))
		c.SetOut(&out)
		err := c.Execute()
		return out.String(), err
	}
	for _, flags := range [][]string{
		{"--connect=wss://nullops.test", "--fingerprint=sha256:ab"},
		{"--port=5007"}, {"--service=NodePort", "--node-port=30500"},
		{"--service=LoadBalancer", "--port=5000"}, {"--websocket=true"},
	} {
		out, err := run(flags...)
		if err != nil || !strings.Contains(out, `image: "registry.test/agent:1"`) {
			t.Errorf("%v: %v\n%s", flags, err, out)
		}
	}
	out, err := run("--connect=https://nullops.test")
	if exit.CodeOf(err) != exit.Usage || !strings.Contains(err.Error(), "--connect") || out != "" {
		t.Errorf("a URL that is no WebSocket: %v\n%s", err, out)
	}
}
