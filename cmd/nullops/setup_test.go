package main_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// setupMachine is a machine on which deploy/setup.sh finds what a test puts there: programs that
// answer as told stand in for those of the machine.
type setupMachine struct{ dir, bin string }

func newSetupMachine(t *testing.T) setupMachine {
	t.Helper()
	m := setupMachine{dir: t.TempDir(), bin: t.TempDir()}
	for _, name := range []string{"setup.sh", "compose.yaml"} {
		copyFile(t, "../../deploy/"+name, filepath.Join(m.dir, name), 0o755)
	}
	m.program(t, "docker", `case "$*" in
	"version"*) echo 24.0.7 ;;
	"compose version") ;;
	"compose ps"*) ;;
	*) echo "docker $*" >>"$0.log"; exit 9 ;;
	esac`)
	m.program(t, "getent", "echo '127.0.0.1 STREAM'")
	m.program(t, "dpkg-query", "exit 1")
	m.program(t, "rpm", "exit 1")
	return m
}

func (m setupMachine) program(t *testing.T, name, script string) {
	t.Helper()
	writeFile(t, filepath.Join(m.bin, name), "#!/bin/bash\n"+script+"\n", 0o755)
}

// run runs the script without a terminal, and returns what it says and whether it got so far as to
// change something.
func (m setupMachine) run(t *testing.T, env []string, args ...string) (said string, begun bool) {
	t.Helper()
	c := exec.CommandContext(t.Context(), "./setup.sh", args...)
	c.Dir = m.dir
	c.Env = append([]string{"PATH=" + m.bin + ":/usr/sbin:/usr/bin:/sbin:/bin"}, env...)
	out, err := c.CombinedOutput()
	if err == nil {
		t.Fatalf("setup.sh %v worked: %s", args, out)
	}
	_, noEnv := os.Stat(filepath.Join(m.dir, ".env"))
	_, noSecrets := os.Stat(filepath.Join(m.dir, "secrets"))
	_, noCalls := os.Stat(filepath.Join(m.bin, "docker.log"))
	return string(out), noEnv == nil || noSecrets == nil || noCalls == nil
}

// Where NullOps cannot run, the script says so in one sentence with what to do, before it has
// changed anything.
func TestSetup_RefusesBeforeItBegins(t *testing.T) {
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := portOf(taken.Addr().String())
	little := filepath.Join(t.TempDir(), "meminfo")
	writeFile(t, little, "MemTotal:        512000 kB\n", 0o644)
	forged := t.TempDir()
	writeFile(t, filepath.Join(forged, "checksums.txt"), "0  nullops-images-v1.tar\n", 0o644)
	writeFile(t, filepath.Join(forged, "checksums.txt.sig"), "nonsense", 0o644)
	for _, c := range []struct {
		name, says  string
		args        []string
		env         []string
		stub, stubs string
	}{
		{"no domain", "'qa' is no domain: write one like", []string{"--domain", "qa"}, nil, "", ""},
		{"elsewhere", "does not resolve to this machine. Add DNS records for qa.example.org and *.qa",
			[]string{"--domain", "qa.example.org"}, nil, "getent", "echo '192.0.2.1 STREAM'"},
		{"port", "port " + port + " is in use.", nil, []string{"NULLOPS_HTTP_BIND=127.0.0.1:" + port},
			"", ""},
		{"memory", "has 500 MiB of memory, and NullOps needs 1500. Give it more", nil,
			[]string{"NULLOPS_SETUP_MEMINFO=" + little}, "", ""},
		{"old engine", "Docker 19.03.15 is too old: NullOps needs 20.10 or newer. Update", nil, nil,
			"docker", "echo 19.03.15"},
		{"no engine", "Docker does not answer. Start it", nil, nil, "docker", "exit 1"},
		{"package", "the package nullops is installed here", nil, nil, "dpkg-query",
			"echo 'install ok installed'"},
		{"signature", "does not match the key", []string{"--release", forged}, nil, "", ""},
		{"option", "there is no option --nonsense; see deploy/setup.sh --help", []string{"--nonsense"},
			nil, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newSetupMachine(t)
			if c.stub != "" {
				m.program(t, c.stub, c.stubs)
			}
			said, begun := m.run(t, c.env, c.args...)
			if !strings.HasPrefix(said, "setup: ") || !strings.Contains(said, c.says) ||
				strings.Count(said, "\n") != 1 {
				t.Errorf("it says %q, wanted one line with %q", said, c.says)
			}
			if begun {
				t.Errorf("it changed something before it refused: %s", said)
			}
		})
	}
	// Without a fault it goes on, and builds: the tests above look at the right thing.
	if said, begun := newSetupMachine(t).run(t, nil, "--domain", "qa.example.org"); !begun {
		t.Errorf("it does not begin: %s", said)
	}
}
