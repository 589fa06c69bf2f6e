package main_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// setupMachine is a machine on which deploy/setup.sh finds what a test puts there: programs that
// answer as told stand in for those of the machine.
type setupMachine struct{ dir, bin string }

func newSetupMachine(t *testing.T) setupMachine {
	t.Helper()
	m := setupMachine{dir: t.TempDir(), bin: t.TempDir()}
	for _, name := range []string{"setup.sh", "compose.yaml", "Dockerfile"} {
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

// sets runs the script where it has to work, and returns what it says.
func (m setupMachine) sets(t *testing.T, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), "./setup.sh", args...)
	c.Dir, c.Env = m.dir, []string{"PATH=" + m.bin + ":/usr/sbin:/usr/bin:/sbin:/bin"}
	out, err := c.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "NullOps runs:") {
		t.Fatalf("setup.sh %v: %v\n%s", args, err, out)
	}
	return string(out)
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
		{"no mail address", "'ops' is no mail address", []string{"--domain", "qa.example.org", "--email",
			"ops"}, nil, "", ""},
		{"two ways", "--email and --proxy exclude each other", []string{"--domain", "qa.example.org",
			"--email", "ops@example.org", "--proxy"}, nil, "", ""},
		{"no address", "need --email: the authority wants an address", []string{"--domain",
			"qa.example.org", "--acme", "https://ca.example.org"}, nil, "", ""},
		{"no name", "HTTPS needs a name: add --domain", []string{"--email", "ops@example.org"}, nil, "",
			""},
		{"no value", "--domain needs a value; see deploy/setup.sh --help", []string{"--domain",
			"--proxy"}, nil, "", ""},
		{"no file", "which does not exist, or which you may not read", []string{"--release", forged,
			"--key", "nothing.pub"}, nil, "", ""},
		{"no release", "there is no checksums.txt in", []string{"--release", t.TempDir()}, nil, "", ""},
		{"half of DNS", "orders by DNS need --dns-server too", []string{"--domain", "qa.example.org",
			"--email", "ops@example.org", "--dns", "rfc2136"}, nil, "", ""},
		{"unknown DNS", "--dns is rfc2136 or webhook", []string{"--domain", "qa.example.org",
			"--email", "ops@example.org", "--dns", "route53", "--dns-server", "x", "--dns-secret",
			little}, nil, "", ""},
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
	m := newSetupMachine(t)
	if err := os.Remove(filepath.Join(m.dir, "Dockerfile")); err != nil {
		t.Fatal(err)
	}
	// What a release has is neither sources nor images.
	if said, begun := m.run(t, nil); begun || !strings.Contains(said, "Add --release FOLDER") {
		t.Errorf("without sources and a release: %s", said)
	}
	// Behind a router that has the address, the machine is told so, and remembers it.
	m = newSetupMachine(t)
	m.program(t, "getent", "echo '192.0.2.1 STREAM'")
	if said, begun := m.run(t, nil, "--domain", "qa.example.org", "--address", "192.0.2.1"); !begun ||
		!strings.Contains(readFile(t, filepath.Join(m.dir, ".env")), "NULLOPS_SETUP_ADDRESS=192.0.2.1") {
		t.Errorf("with an address elsewhere: %s", said)
	}
	// Files are those that a person names from where they are.
	m = newSetupMachine(t)
	c := exec.CommandContext(t.Context(), filepath.Join(m.dir, "setup.sh"), "--release",
		filepath.Base(forged))
	c.Dir, c.Env = filepath.Dir(forged), []string{"PATH=" + m.bin + ":/usr/sbin:/usr/bin:/sbin:/bin"}
	if out, err := c.CombinedOutput(); err == nil || !strings.Contains(string(out), "does not match") {
		t.Errorf("a folder from elsewhere: %v %s", err, out)
	}
	// Without a fault it goes on, and builds: the tests above look at the right thing.
	if said, begun := newSetupMachine(t).run(t, nil, "--domain", "qa.example.org"); !begun {
		t.Errorf("it does not begin: %s", said)
	}
}

// runsOlder makes the machine one that runs an earlier release. Check and backup are how the
// commands before an upgrade end.
func (m setupMachine) runsOlder(t *testing.T, check, backup string) {
	t.Helper()
	m.program(t, "docker", `echo "docker $*" >>"$0.calls"
	case "$*" in
	"version"*) echo 24.0.7 ;;
	"compose version" | "compose build"* | "compose up"* | "tag "*) ;;
	"compose ps"*) echo running ;;
	"inspect"*) echo sha256:older ;;
	"image inspect"*) echo sha256:newer ;;
	"compose config"*) echo "    image: nullops/controlplane:v2" ;;
	"compose run"*"migrate check") `+check+` ;;
	"compose run"*"controlplane backup") `+backup+` ;;
	"run --rm --network none"*) echo key ;;
	"logs"*) echo '{"msg":"control plane","url":"http://localhost:8080"}' ;;
	*) echo "docker $*" >>"$0.log"; exit 9 ;;
	esac`)
}

// An upgrade that cannot succeed, or that has no backup before it, leaves what runs alone: a
// database of another release, and a backup that fails, are one sentence each.
func TestSetup_UpgradeStopsBeforeItChangesAnything(t *testing.T) {
	for name, c := range map[string]struct{ check, backup, says string }{
		"database of another release": {"echo 'the database has schema 999' >&2; exit 1", "echo b",
			"it cannot take over, and nothing was changed: what ran runs on."},
		"backup that fails": {":", "echo half; exit 1",
			"the backup failed, and nothing was changed: what ran runs on. Remove the cause"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newSetupMachine(t)
			m.runsOlder(t, c.check, c.backup)
			said, _ := m.run(t, nil)
			if !strings.Contains(said, c.says) {
				t.Errorf("it says %q", said)
			}
			calls := readFile(t, filepath.Join(m.bin, "docker.calls"))
			if strings.Contains(calls, "compose up -d\n") {
				t.Errorf("it started the new release:\n%s", calls)
			}
			if left, _ := filepath.Glob(filepath.Join(m.dir, "backups", "*")); len(left) > 0 {
				t.Errorf("half a backup is left: %v", left)
			}
		})
	}
}

// A set-up that was interrupted goes on when it is run again, with the secrets that it had made.
func TestSetup_GoesOnAfterAnInterruption(t *testing.T) {
	m := newSetupMachine(t)
	m.runsOlder(t, "exit 1", "")
	m.run(t, nil)
	before := readFile(t, filepath.Join(m.dir, "secrets", "controlplane_pgpass"))
	m.runsOlder(t, ":", "echo a backup")
	m.sets(t)
	if after := readFile(t, filepath.Join(m.dir, "secrets", "controlplane_pgpass")); after != before {
		t.Error("it made other secrets")
	}
	kept, _ := filepath.Glob(filepath.Join(m.dir, "backups", "before-v2-*.backup"))
	if len(kept) != 1 || readFile(t, kept[0]) != "a backup\n" {
		t.Errorf("the backup before the upgrade: %v", kept)
	}
}

// Secrets are in files, since everybody who may inspect a container sees its variables. The one
// that was a variable before moves, and what a person writes stays.
func TestSetup_MovesSecretsOutOfVariables(t *testing.T) {
	m := newSetupMachine(t)
	m.runsOlder(t, ":", "echo a backup")
	writeFile(t, filepath.Join(m.dir, ".env"), "NULLOPS_MAIL_SERVER=mail.example.org:587\n"+
		"NULLOPS_BACKUP_S3_SECRET=\"it's=a #secret\"\n", 0o600)
	m.sets(t)
	file := filepath.Join(m.dir, "secrets", "settings.yaml")
	var got struct {
		Backup struct{ S3 struct{ Secret string } }
	}
	if err := yaml.Unmarshal([]byte(readFile(t, file)), &got); err != nil ||
		got.Backup.S3.Secret != "it's=a #secret" {
		t.Errorf("%v: the settings are %s", err, readFile(t, file))
	}
	if got := readFile(t, filepath.Join(m.dir, ".env")); strings.Contains(got, "S3_SECRET") ||
		!strings.Contains(got, "MAIL_SERVER=mail") {
		t.Errorf(".env has %s", got)
	}
	writeFile(t, file, "mail: {password: given later}", 0o644)
	m.sets(t)
	if got := readFile(t, file); got != "mail: {password: given later}" {
		t.Errorf("what a person wrote became %q", got)
	}
	if text := readFile(t, "../../deploy/compose.yaml"); regexp.MustCompile(
		`\$\{NULLOPS_\w*(SECRET|PASSWORD|TOKEN|KEYS)\b`).MatchString(text) {
		t.Error("compose.yaml passes a secret as a variable")
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// runsAgent makes the machine one on which the control plane runs behind its domain, and an agent
// whose environment is given; without one, there is no agent yet.
func (m setupMachine) runsAgent(t *testing.T, environment string) {
	t.Helper()
	m.program(t, "docker", `echo "docker $*" >>"$0.calls"
	case "$*" in
	"version"*) echo 24.0.7 ;;
	"compose version" | "compose build"* | "compose up"* | "rm --force"* | "build "* | "run -d "*) ;;
	"compose ps"*) echo running ;;
	"compose config"*) echo "    image: nullops/controlplane:v2" ;;
	"inspect --format {{.Config.Env}}"*) echo '`+environment+`' ;;
	"inspect"* | "image inspect"*) echo sha256:same ;;
	"logs"*) echo 'First admin: user admin, password first'
		echo '{"msg":"control plane","url":"https://qa.example.org:8080"}' ;;
	"ps --all --quiet --filter name=^nullops-agent"*) [ -z '`+environment+`' ] || echo agent ;;
	*"node add this-machine"*) printf '%s\n' 'docker run -d --name nullops-agent \' \
		'  -e AGENT_TOKEN=new nullops/agent:v2' '' ;;
	*"node show this-machine"*) echo '{"status": "online"}' ;;
	"run --rm"*) [ -z "$(cat)" ] || true; echo key ;;
	*) echo "docker $*" >>"$0.log"; exit 9 ;;
	esac`)
}

// An agent that was started before certificates were ordered trusts the first certificate only, by
// its fingerprint. It would never find its way again, so the script replaces it; and any other
// agent stays as it is. The one that it starts trusts the authority that it was given.
func TestSetup_ReplacesTheAgentThatTrustsTheFirstCertificate(t *testing.T) {
	for name, c := range map[string]struct {
		environment string
		args        []string
		replaced    bool
	}{
		"pinned, certificates ordered": {"[AGENT_TOKEN=old AGENT_FINGERPRINT=sha256:ab]",
			[]string{"--email", "ops@example.org"}, true},
		"pinned, none ordered": {"[AGENT_TOKEN=old AGENT_FINGERPRINT=sha256:ab]", nil, false},
		"not pinned":           {"[AGENT_TOKEN=old]", []string{"--email", "ops@example.org"}, false},
		"none yet":             {"", []string{"--email", "ops@example.org"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			m := newSetupMachine(t)
			m.runsAgent(t, c.environment)
			roots := filepath.Join(t.TempDir(), "roots.pem")
			writeFile(t, roots, "a certificate\n", 0o644)
			args := append([]string{"--domain", "qa.example.org"}, c.args...)
			if c.args != nil {
				args = append(args, "--acme", "https://ca.example.org", "--acme-roots", roots)
			}
			said := m.sets(t, args...)
			calls := readFile(t, filepath.Join(m.bin, "docker.calls"))
			removed := strings.Contains(calls, "docker rm --force agent\n")
			if want := c.replaced && c.environment != ""; removed != want {
				t.Errorf("the agent is removed: %v, wanted %v\n%s", removed, want, said)
			}
			started := regexp.MustCompile(`(?m)^docker run -d .*$`).FindString(calls)
			if (started != "") != c.replaced {
				t.Errorf("it starts %q", started)
			}
			authorities := filepath.Join(m.dir, "secrets", "authorities.pem")
			if c.replaced && (!strings.Contains(started, "-e NULLOPS_AGENT_CA=/authorities.pem ") ||
				!strings.Contains(started, authorities+":/authorities.pem:ro ") ||
				readFile(t, authorities) != "a certificate\n") {
				t.Errorf("the agent does not trust the authority: %s", started)
			}
		})
	}
}
