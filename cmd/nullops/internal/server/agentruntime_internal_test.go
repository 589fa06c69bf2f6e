package server

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Settings of a cluster that cannot work are refused before anything is opened, each with its
// remedy; on Docker they are not looked at.
func TestCheckRuntime(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, []byte("kind: Config"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"docker": {[]string{"--agent.kubernetes.admit=nonsense"}, nil},
		"complete": {[]string{"--agent.runtime=kubernetes", "--agent.kubernetes.kubeconfig=" + file,
			"--agent.kubernetes.helper=registry.test/agent:1",
			"--agent.kubernetes.machines=pool=qa",
			"--agent.kubernetes.admit=192.0.2.1/32, 192.0.2.2/32"}, nil},
		"unknown": {[]string{"--agent.runtime=nomad"}, []string{"agent.runtime", "docker or " +
			"kubernetes"}},
		"all wrong": {[]string{"--agent.runtime=kubernetes", "--agent.kubernetes.admit=192.0.2.1",
			"--agent.kubernetes.kubeconfig=/nowhere/kubeconfig"},
			[]string{"agent.kubernetes.helper is empty", "192.0.2.10/32", "/nowhere/kubeconfig"}},
		"no label": {[]string{"--agent.runtime=kubernetes", "--agent.kubernetes.machines=qa",
			"--agent.kubernetes.helper=a"}, []string{"agent.kubernetes.machines", "pool=qa"}},
	} {
		s, err := loadSettings(c.args, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		err = s.checkDoctor() // an agent's settings are checked with it too
		if (err == nil) != (c.want == nil) {
			t.Errorf("%s: %v", name, err)
		}
		for _, want := range c.want {
			if err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: the error does not say %q: %v", name, want, err)
			}
		}
	}
}
