package main_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/testpart"
)

// provisionPatience is for all steps on a machine that has much else to do.
const provisionPatience = 10 * time.Minute

const sshPassword = "canary-password-of-the-machine"

// sshServer is a real OpenSSH server on loopback, with keys of its own. It lives
// in a mount namespace where root has a password, systemd does not run, and two
// folders are full and read-only.
type sshServer struct {
	dir string
	// port is the door of a whole machine; bare's finds only the programs in bin,
	// and no Docker among them.
	port, bare   string
	fingerprint  string
	key, log     string
	hash         string
	full, closed string
	bin          string
}

// newSSHServer needs root: for the namespace, and since the user who signs in is
// the one who runs the server.
func newSSHServer(t *testing.T) *sshServer {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("an SSH server with a password of its own needs root")
	}
	s := &sshServer{dir: shortDir(t), port: portOf(freeAddress(t)), bare: portOf(freeAddress(t))}
	s.full, s.closed = filepath.Join(s.dir, "full"), filepath.Join(s.dir, "closed")
	s.bin, s.log = filepath.Join(s.dir, "bin"), filepath.Join(s.dir, "sshd.log")
	for _, dir := range []string{s.full, s.closed, s.bin, "/run/sshd"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s.keys(t)
	s.tools(t)
	s.config(t)
	s.start(t)
	return s
}

// keys makes the host's key and the one that opens the machine.
func (s *sshServer) keys(t *testing.T) {
	t.Helper()
	host, public := newSSHKey(t)
	writeFile(t, filepath.Join(s.dir, "host_key"), host, 0o600)
	s.fingerprint = ssh.FingerprintSHA256(public)
	own, public := newSSHKey(t)
	s.key = own
	writeFile(t, filepath.Join(s.dir, "authorized"), string(ssh.MarshalAuthorizedKey(public)), 0o600)
	hash, err := exec.CommandContext(t.Context(), "openssl", "passwd", "-6", sshPassword).Output()
	if err != nil {
		t.Fatalf("openssl passwd: %v", err)
	}
	s.hash = strings.TrimSpace(string(hash))
	writeFile(t, filepath.Join(s.dir, "shadow"), "root:"+s.hash+":19000:0:99999:7:::\n", 0o600)
}

func newSSHKey(t *testing.T) (private string, public ssh.PublicKey) {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(key, "test")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(block)), signer.PublicKey()
}

func writeFile(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// tools are the programs of a machine without Docker. Its apt-get stands for
// Debian's: it brings Docker.
func (s *sshServer) tools(t *testing.T) {
	t.Helper()
	for _, name := range []string{"uname", "id", "mktemp", "mkdir", "install", "sha256sum", "mv",
		"rm", "tar", "env"} {
		path, err := exec.LookPath(name)
		if err == nil {
			err = os.Symlink(path, filepath.Join(s.bin, name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	docker, err := exec.LookPath("docker")
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(s.bin, "apt-get"), `#!/bin/sh
echo "the machine's apt-get does: $*"
if [ "$1" = install ]; then /bin/ln -s `+docker+` `+s.bin+`/docker; fi
`, 0o755)
}

func (s *sshServer) config(t *testing.T) {
	t.Helper()
	writeFile(t, filepath.Join(s.dir, "config"), strings.NewReplacer("DIR", s.dir, "PORT", s.port,
		"BARE", s.bare).Replace(`ListenAddress 127.0.0.1:PORT
ListenAddress 127.0.0.1:BARE
HostKey DIR/host_key
AuthorizedKeysFile DIR/authorized
StrictModes no
PermitRootLogin yes
PasswordAuthentication yes
UsePAM no
PidFile none
LogLevel VERBOSE
Subsystem sftp internal-sftp
Match LocalPort BARE
  SetEnv PATH=DIR/bin
`), 0o600)
}

func (s *sshServer) start(t *testing.T) {
	t.Helper()
	if err := os.MkdirAll("/run/systemd", 0o755); err != nil {
		t.Fatal(err)
	}
	log := appendTo(t, s.log)
	defer func() { _ = log.Close() }()
	c := exec.Command("unshare", "--mount", "--propagation", "private", "sh", "-ec", `
mount --bind "$1/shadow" /etc/shadow
mount -t tmpfs none /run/systemd
mount -t tmpfs -o size=1m none "$1/full"
mount -t tmpfs -o ro none "$1/closed"
exec /usr/sbin/sshd -D -e -f "$1/config"
`, "sh", s.dir)
	c.Stdout, c.Stderr = log, log
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = c.Wait(); close(ended) }() // its log says more
	t.Cleanup(func() {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
		<-ended
	})
	eventually(t, "the SSH server listens", func() string {
		text := lastLines(s.log, 20)
		if strings.Count(text, "Server listening on") < 2 {
			return "it has said " + text
		}
		return ""
	})
}

// provisioning makes machines nodes over SSH: with all that is in the way first,
// and then to the end.
func provisioning(t *testing.T, w *world) {
	testpart.Rotate(t)
	s, p := newSSHServer(t), w.product()
	// An environment of its own: elsewhere its machines would be given deployments of
	// other scenarios, and end under them.
	p.admin.put(t, "/environments/workshop", object{"domain": "localhost"}, nil)
	s.refuseAttempts(t, p)
	s.describeMachine(t, p)
	s.inTheWay(t, p)
	s.toTheEnd(t, p)
	s.lineBreaks(t, p)
	asAUnit(t, p)
}

// machine is a node without an agent, and what the control plane has to know to
// make it one.
func (s *sshServer) machine(t *testing.T, p *product, name string) (*node, object) {
	t.Helper()
	n := p.addNode(t, name, "workshop")
	return n, object{"host": "127.0.0.1", "port": parsePort(t, s.port), "user": "root",
		"host_key": s.fingerprint, "private_key": s.key, "data": n.data, "run": n.run,
		"docker": n.docker, "subnets": n.subnets, "directory": filepath.Join(filepath.Dir(n.data), "bin")}
}

func withFields(o object, pairs ...any) object {
	changed := maps.Clone(o)
	for i := 0; i < len(pairs); i += 2 {
		if changed[pairs[i].(string)] = pairs[i+1]; pairs[i+1] == nil {
			delete(changed, pairs[i].(string))
		}
	}
	return changed
}

// attempt begins one and waits for its end.
func (n *node) attempt(t *testing.T, ssh object) (a apiclient.Provision) {
	t.Helper()
	body := object{}
	if ssh != nil {
		body["ssh"] = ssh
	}
	path := "/nodes/" + n.name + "/provisions"
	n.p.admin.want(t, http.StatusAccepted, http.MethodPost, path, body, &a)
	if a.State != apiclient.ProvisionStatePending {
		t.Errorf("an attempt begins as %s", a.State)
	}
	within(t, provisionPatience, "attempt of "+n.name+" ends", func() string {
		n.p.admin.get(t, path+"/"+formatNumber(a.Number), &a)
		if a.EndedAt == nil {
			return fmt.Sprintf("%+v", a)
		}
		return ""
	})
	return a
}

// failsWith holds an attempt to its reason.
func failsWith(t *testing.T, a apiclient.Provision, step, code string, says ...string) {
	t.Helper()
	said := textOf(a.Message) + " " + textOf(a.Remedy)
	last := apiclient.ProvisionStep{}
	if len(a.Steps) > 0 {
		last = a.Steps[len(a.Steps)-1]
	}
	// promise: Y-11
	if a.State != apiclient.ProvisionStateError || textOf(a.Code) != code || last.Key != step ||
		last.Status != apiclient.ProvisionStepStatusFailed || textOf(a.Remedy) == "" {
		t.Errorf("wanted %s in step %s, not %+v", code, step, a)
	}
	for _, words := range says {
		if !strings.Contains(said+last.Output, words) {
			t.Errorf("%s does not say %q: %s\n%s", code, words, said, last.Output)
		}
	}
}

// refuseAttempts makes attempts that are not begun, or that get no further than the door.
func (s *sshServer) refuseAttempts(t *testing.T, p *product) {
	n, good := s.machine(t, p, "ssh-refused")
	path := "/nodes/ssh-refused/provisions"
	for _, c := range []struct {
		body  object
		field string
	}{
		{withFields(good, "host", "169.254.169.254"), "host"},
		{withFields(good, "host", "2130706433"), "host"},
		{withFields(good, "host", "127.0.0.1", "port", parsePort(t, portOf(p.http))), "host"},
		{withFields(good, "user", "root;reboot"), "user"},
		{withFields(good, "host_key", "MD5:00"), "host_key"},
		{withFields(good, "private_key", "not a key"), "private_key"},
		{withFields(good, "password", "too"), "password"},
		{withFields(good, "private_key", nil), "password"},
		{withFields(good, "private_key", nil, "password", "two\nlines"), "password"},
		{withFields(good, "data", "relative"), "data"},
		{withFields(good, "directory", "/opt/$(reboot)"), "directory"},
		{withFields(good, "data", "/opt/../etc"), "data"},
		{withFields(good, "docker", "tcp://127.0.0.1:2375"), "docker"},
		{withFields(good, "subnets", "everything"), "subnets"},
	} {
		p.admin.expectProblem(t, http.StatusBadRequest, http.MethodPost, path, object{"ssh": c.body},
			`"field":"`+c.field+`"`)
	}
	p.admin.expectProblem(t, http.StatusConflict, http.MethodPost, path, object{}, "no_credential")
	var shown apiclient.SSHHostKey
	p.admin.want(t, http.StatusOK, http.MethodPost, "/ssh-host-key",
		object{"host": "127.0.0.1", "port": parsePort(t, s.port)}, &shown)
	if shown.Fingerprint != s.fingerprint || shown.Kind != "ssh-ed25519" {
		t.Errorf("the host key is shown as %+v instead of %s", shown, s.fingerprint)
	}
	_, other := newSSHKey(t)
	before := lastLines(s.log, 1000)
	wrong := n.attempt(t, withFields(good, "host_key", ssh.FingerprintSHA256(other), "private_key",
		nil,
		"password", sshPassword))
	failsWith(t, wrong, "connect", "host_key_mismatch", s.fingerprint, "Nothing was sent")
	after := strings.TrimPrefix(lastLines(s.log, 1000), before)
	if strings.Contains(after, "Accepted") || strings.Contains(after, "Failed password") {
		t.Errorf("a host with another key was given the password:\n%s", after)
	}
	failsWith(t, n.attempt(t, withFields(good, "private_key", nil, "password", "wrong-password")),
		"connect", "auth_failed")
	failsWith(t, n.attempt(t, withFields(good, "port", parsePort(t, portOf(freeAddress(t))))),
		"connect", "host_unreachable", "refused")
	if all := listAttempts(t, p, n.name); len(all) != 3 || all[0].Number != 3 {
		t.Errorf("%d attempts are remembered, the newest is %+v", len(all), all)
	}
}

// describeMachine enters all that is known of a machine before there is an agent: its name,
// address, graphics processor and models, and how to sign in. It is stored: the next attempt needs
// no input, and is refused like the first.
func (s *sshServer) describeMachine(t *testing.T, p *product) {
	n, good := s.machine(t, p, "ssh-described")
	labels := map[string]string{"gpu": "l40s", "models": "flux", "dtype": "fp8"}
	p.admin.want(t, http.StatusOK, http.MethodPut, "/nodes/"+n.name, object{
		"environment": "workshop", "address": n.address, "settings": object{"labels": labels}}, nil)
	shown := n.show(t)
	// promise: Y-04
	if shown.Name != n.name || shown.Address != n.address || shown.Settings == nil ||
		shown.Settings.Labels == nil || !maps.Equal(*shown.Settings.Labels, labels) {
		t.Errorf("the node is shown as %+v", shown)
	}
	failsWith(t, n.attempt(t, withFields(good, "private_key", nil, "password", "wrong-password")),
		"connect", "auth_failed")
	failsWith(t, n.attempt(t, nil), "connect", "auth_failed") // promise: Y-04
	if all := listAttempts(t, p, n.name); len(all) != 2 || all[0].Number != 2 {
		t.Errorf("%d attempts are remembered: %+v", len(all), all)
	}
}

func listAttempts(t *testing.T, p *product, name string) []apiclient.Provision {
	t.Helper()
	var list apiclient.ProvisionList
	p.admin.get(t, "/nodes/"+name+"/provisions", &list)
	return list.Items
}

// inTheWay are machines on which something is missing.
func (s *sshServer) inTheWay(t *testing.T, p *product) {
	n, good := s.machine(t, p, "ssh-broken")
	bare := withFields(good, "port", parsePort(t, s.bare), "private_key", nil, "password", sshPassword)
	failsWith(t, n.attempt(t, bare), "docker", "docker_missing", "allow installing it")
	failsWith(t, n.attempt(t, withFields(good, "docker", "unix:///run/nobody.sock")),
		"docker", "docker_down", "unix:///run/nobody.sock")
	installed := n.attempt(t, withFields(bare, "install_docker", true, "directory",
		s.closed+"/nullops"))
	failsWith(t, installed, "upload", "disk", "Read-only file system")
	i := slices.IndexFunc(installed.Steps, func(s apiclient.ProvisionStep) bool {
		return s.Key == "docker"
	})
	said := ""
	if i >= 0 {
		said = installed.Steps[i].Output
	}
	if !strings.Contains(said, "apt-get does: install -y -q docker.io") ||
		!strings.Contains(said, "answers") {
		t.Errorf("Docker was not installed: %q", said)
	}
	failsWith(t, n.attempt(t, withFields(good, "directory", s.full)), "upload", "disk",
		"No space left on device")
}

// lineBreaks cuts the connection in the middle of the upload. The next attempt
// needs nothing to be said again.
func (s *sshServer) lineBreaks(t *testing.T, p *product) {
	n, good := s.machine(t, p, "ssh-cut")
	cut := newCutter(t, "127.0.0.1:"+s.port, 3<<20)
	failsWith(t, n.attempt(t, withFields(good, "port", parsePort(t, portOf(cut.address)), "docker",
		n.docker)), "upload", "connection_lost")
	if _, err := os.Stat(filepath.Join(filepath.Dir(n.data), "bin", "nullops")); err == nil {
		t.Error("half a program has the program's name")
	}
	p.admin.want(t, http.StatusNoContent, http.MethodDelete, "/nodes/ssh-cut/ssh", nil, nil)
	p.admin.expectProblem(t, http.StatusConflict, http.MethodPost, "/nodes/ssh-cut/provisions",
		object{},
		"no_credential")
}

// cutter passes connections on, and cuts each one after so many bytes have come from the client.
type cutter struct{ address string }

func newCutter(t *testing.T, to string, after int64) *cutter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go cutAfter(conn, to, after)
		}
	}()
	return &cutter{address: l.Addr().String()}
}

func cutAfter(conn net.Conn, to string, after int64) {
	defer func() { _ = conn.Close() }()
	other, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer func() { _ = other.Close() }()
	go func() { _, _ = io.Copy(conn, other) }() // ends with the connections
	_, _ = io.CopyN(other, conn, after)
}

// toTheEnd uses the command line, as a person would: it shows every step, and the node is online
// with the very certificate that the agent reported over SSH.
func (s *sshServer) toTheEnd(t *testing.T, p *product) {
	n := &node{p: p, name: "ssh-ready", binary: p.w.binary, address: freeAddress(t),
		docker: p.w.docker, data: filepath.Join(shortDir(t), "data"), run: dockertest.RunDir(t)}
	n.subnets = fmt.Sprintf("10.222.%d.0/20", 16*(p.w.ranges.Add(1)%16))
	t.Cleanup(func() { n.stopContainer(t) })
	key := filepath.Join(shortDir(t), "key")
	writeFile(t, key, s.key, 0o600)
	args := []string{"node", "add", n.name, "--env", "workshop", "--address", n.address, "--ssh",
		"root@127.0.0.1:" + s.port, "--ssh-key", key, "--forget", "--data", n.data, "--run", n.run,
		"--docker", n.docker, "--subnets", n.subnets, "--dir", filepath.Join(filepath.Dir(n.data), "bin")}
	if _, errs, code := p.admin.cli(t, args...); code == 0 ||
		!strings.Contains(errs, "--host-key "+s.fingerprint) {
		t.Errorf("without a confirmed host key: exit code %d\n%s", code, errs)
	}
	out := n.addByCommand(t, append(args, "--host-key", s.fingerprint))
	// promise: Y-08
	for _, step := range []string{"connect", "inspect", "docker", "upload", "identity", "enrol",
		"start", "active", "link"} {
		if !strings.Contains(out, step+"\n    ") {
			t.Errorf("the command line shows nothing of the step %s:\n%s", step, out)
		}
	}
	// What sets a machine up is in the program: it brings itself, and needs nothing else.
	installed, err := os.ReadFile(filepath.Join(filepath.Dir(n.data), "bin", "nullops"))
	own, ownErr := os.ReadFile(n.binary)
	if err != nil || ownErr != nil || !bytes.Equal(installed, own) {
		t.Errorf("the machine has %d bytes (%v), the program has %d (%v)", len(installed), err,
			len(own), ownErr)
	}
	shown := n.await(t, apiclient.NodeStatusOnline)
	identity, _, _ := runCommand(t, n.binary, nil, "", "agent", "identity", "--agent.data="+n.data)
	// promise: Y-17
	if textOf(shown.Thumbprint) != strings.TrimSpace(identity) || len(textOf(shown.Thumbprint)) != 64 {
		t.Errorf("thumbprint %s, the agent's own is %s", textOf(shown.Thumbprint), identity)
	}
	p.admin.expectProblem(t, http.StatusConflict, http.MethodPost, "/nodes/ssh-ready/provisions",
		object{}, "node_online")
	s.leavesNoTrace(t, p, n, out)
}

// addByCommand lets the command line follow an attempt to its end.
func (n *node) addByCommand(t *testing.T, args []string) (out string) {
	t.Helper()
	c := startProcess(t, n.binary, "add-"+n.name, n.p.dir, []string{"NULLOPS_CLI_URL=" + n.p.url,
		"NULLOPS_CLI_TOKEN=" + n.p.admin.token,
		"XDG_CONFIG_HOME=" + filepath.Join(n.p.dir, "none")}, args...)
	within(t, provisionPatience, "the command ends", func() string {
		if !c.hasEnded() {
			return "it has said " + lastLines(c.out, 30)
		}
		return ""
	})
	text, err := os.ReadFile(c.out)
	if err != nil {
		t.Fatal(err)
	}
	if code := c.cmd.ProcessState.ExitCode(); code != 0 ||
		!strings.Contains(string(text), "Node "+n.name+" is ready.") {
		t.Fatalf("exit code %d\n%s%s", code, text, lastLines(c.log, 30))
	}
	return string(text)
}

// leavesNoTrace looks for secrets and for what should have gone.
func (s *sshServer) leavesNoTrace(t *testing.T, p *product, n *node, shown string) {
	t.Helper()
	settings := filepath.Join(filepath.Dir(n.data), "bin", "agent.yaml")
	info, err := os.Stat(settings)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the agent's settings, which hold its token: %v, %v", info, err)
	}
	written, err := os.ReadFile(settings)
	if err != nil {
		t.Fatal(err)
	}
	_, token, _ := strings.Cut(string(written), `"token":"`)
	token, _, _ = strings.Cut(token, `"`)
	if !strings.HasPrefix(token, "nopa1_") {
		t.Fatalf("the agent's settings have no token: %d bytes", len(written))
	}
	dump := string(p.dump(t))
	events := p.admin.ask(t, http.MethodGet, "/nodes/ssh-ready/events", nil).body
	for what, secret := range map[string]string{"password": sshPassword, "token": token,
		"key": strings.Split(s.key, "\n")[1]} {
		for place, text := range map[string]string{"the database": dump, "an answer": shown,
			"the events": events, "a log": lastLines(p.controlPlane.log, 1<<20)} {
			if strings.Contains(text, secret) {
				t.Errorf("the %s is in %s", what, place)
			}
		}
	}
	// promise: Y-06, Y-12
	for _, words := range []string{`"provision_step"`, "attempt 1: ready", "the link stands"} {
		if !strings.Contains(events, words) {
			t.Errorf("the node's events do not say %q: %s", words, events)
		}
	}
	all := listAttempts(t, p, n.name)
	if len(all) != 1 || all[0].State != apiclient.ProvisionStateReady || len(all[0].Steps) != 9 {
		t.Fatalf("attempts %+v", all)
	}
	stage := regexp.MustCompile(`/\S*/tmp\.\w+`).FindString(all[0].Steps[3].Output)
	if _, err := os.Stat(stage); stage == "" || err == nil {
		t.Errorf("the upload's folder %q was left there", stage)
	}
	p.admin.want(t, http.StatusOK, http.MethodPost, "/nodes/ssh-ready/disable", nil, nil)
	p.admin.want(t, http.StatusOK, http.MethodPost, "/nodes/ssh-ready/enable", nil, nil)
	n.stopContainer(t)
	n.await(t, apiclient.NodeStatusOffline)
	p.admin.expectProblem(t, http.StatusConflict, http.MethodPost, "/nodes/ssh-ready/provisions",
		object{}, "no_credential") // it was forgotten after success
}

// stopContainer lets the agent end what it does before it goes.
func (n *node) stopContainer(t *testing.T) {
	t.Helper()
	n.engine(t, "stop", "-t", "60", "nullops-agent-"+n.name)
	n.engine(t, "rm", "-f", "nullops-agent-"+n.name)
}

// engine uses the engine's own command line.
func (n *node) engine(t *testing.T, words ...string) {
	t.Helper()
	c := exec.Command("docker", append([]string{"-H", n.docker}, words...)...)
	if out, err := c.CombinedOutput(); err != nil && !strings.Contains(string(out), "No such") {
		t.Errorf("docker %v: %v\n%s", words, err, out)
	}
}
