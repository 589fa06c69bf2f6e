package main_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/nullops/nullops/controlplane/apiclient"
)

// computer is a whole Debian machine in namespaces of its own: systemd is process
// 1, OpenSSH one of its services, people are not root but may use sudo, and Docker
// is missing until apt-get installs it. Its disk is this machine's, under a layer
// that goes with the test; the layer outlives a reboot. It shares the network, so
// that the control plane reaches it, and the engine of the tests answers where
// Docker was installed.
type computer struct {
	*sshServer
	// operator has a password for sudo; deployer has a key, and sudo asks nothing.
	operator, deployer string
}

// power is the machine's hardware: it boots again whenever systemd has ended.
const power = `
mount -t tmpfs none "$DIR/disk"
mkdir "$DIR/disk/upper" "$DIR/disk/work"
mount -t overlay overlay \
  -o "lowerdir=/,upperdir=$DIR/disk/upper,workdir=$DIR/disk/work" "$ROOT"
sh -e "$DIR/install"
while :; do
  unshare --mount --pid --fork --kill-child --ipc --uts --cgroup sh -e "$DIR/boot" || true
done
`

// installs makes the disk: nothing starts but the journal and the SSH server,
// three people, and a package archive in a folder with Debian's docker.io in it.
// That holds the client alone; its service stands for an engine that starts.
const installs = `
rm -rf "$ROOT"/etc/systemd/system/* "$ROOT"/lib/systemd/system/*.wants \
  "$ROOT"/lib/systemd/system-generators "$ROOT"/usr/sbin/policy-rc.d
wants() {
  mkdir -p "$ROOT/etc/systemd/system/$1.wants"
  ln -s "$2" "$ROOT/etc/systemd/system/$1.wants/"
}
wants sysinit.target /lib/systemd/system/systemd-journald.service
wants sockets.target /lib/systemd/system/systemd-journald.socket
ln -s /lib/systemd/system/multi-user.target "$ROOT/etc/systemd/system/default.target"
cat >"$ROOT/etc/systemd/system/door.service" <<END
[Service]
ExecStart=/usr/sbin/sshd -D -e -f /etc/ssh/machine
RuntimeDirectory=sshd
StandardError=append:$DIR/sshd.log
KillMode=process
END
wants multi-user.target ../door.service
cp "$DIR/config" "$ROOT/etc/ssh/machine"
install -m 0600 "$DIR/host_key" "$ROOT/etc/ssh/machine_key"
install -m 0644 "$DIR/authorized" "$ROOT/etc/ssh/machine_people"

useradd() { chroot "$ROOT" /usr/sbin/useradd -m -s /bin/sh -p "$1" "$2"; }
useradd "$HASH" petra
useradd "*" dora
useradd "$HASH" guest
printf 'petra ALL=(ALL) ALL\ndora ALL=(ALL) NOPASSWD: ALL\n' >"$ROOT/etc/sudoers.d/machine"

(cd "$ROOT" && rm -f usr/bin/docker* usr/local/bin/docker* usr/sbin/docker* \
  lib/systemd/system/docker.*)
awk 'BEGIN { RS = ""; ORS = "\n\n" } !/^Package: docker.io\n/' \
  /var/lib/dpkg/status >"$ROOT/var/lib/dpkg/status"
rm -rf "$ROOT"/var/lib/dpkg/info/docker.io.* "$ROOT"/etc/apt/sources.list*
echo 'deb [trusted=yes] file:/archive ./' >"$ROOT/etc/apt/sources.list"
deb=$ROOT/archive/deb
mkdir -p "$deb/DEBIAN" "$deb/usr/bin" "$deb/lib/systemd/system"
cat >"$deb/DEBIAN/control" <<END
Package: docker.io
Version: 99
Architecture: all
Maintainer: Test <test@localhost>
Description: engine and client
END
ln -s /archive/client "$deb/usr/bin/docker"
cat >"$deb/lib/systemd/system/docker.service" <<END
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/ln -s /archive/engine /run/docker.sock
[Install]
WantedBy=multi-user.target
END
dpkg-deb --build -Znone "$deb" "$ROOT/archive/docker.io.deb"
{
  cat "$deb/DEBIAN/control"
  echo "Filename: ./docker.io.deb"
  echo "Size: $(stat -c %s "$ROOT/archive/docker.io.deb")"
  sha256sum "$ROOT/archive/docker.io.deb" | sed 's/^/SHA256: /; s/ [^ ]*$//'
} >"$ROOT/archive/Packages"
touch "$ROOT/archive/client" "$ROOT/archive/engine"
`

// boots mounts the machine's devices and folders in memory, and becomes systemd.
// What it could do to the machine under it is read-only, or taken from it.
const boots = `
mount -t proc proc "$ROOT/proc"
mount --bind "$ROOT/proc/sys" "$ROOT/proc/sys"
mount -o remount,bind,ro "$ROOT/proc/sys"
mount -t sysfs -o ro sysfs "$ROOT/sys"
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
  mount -t cgroup2 cgroup "$ROOT/sys/fs/cgroup"
else
  mount -t tmpfs -o mode=755 none "$ROOT/sys/fs/cgroup"
  mkdir "$ROOT/sys/fs/cgroup/systemd"
  mount -t cgroup -o none,name=systemd cgroup "$ROOT/sys/fs/cgroup/systemd"
fi
for folder in dev run tmp; do
  mount -t tmpfs -o mode=755 none "$ROOT/$folder"
done
chmod 1777 "$ROOT/tmp"
for device in null zero full random urandom tty; do
  touch "$ROOT/dev/$device"
  mount --bind "/dev/$device" "$ROOT/dev/$device"
done
mkdir "$ROOT/dev/pts" "$ROOT/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$ROOT/dev/pts"
ln -s pts/ptmx "$ROOT/dev/ptmx"
ln -s /proc/self/fd "$ROOT/dev/fd"
for folder in $FOLDERS; do
  mkdir -p "$ROOT$folder"
  mount --bind "$folder" "$ROOT$folder"
done
mount --bind "$CLIENT" "$ROOT/archive/client"
mount --bind "$ENGINE" "$ROOT/archive/engine"
cd "$ROOT"
pivot_root . .
umount -l .
exec env -i container=nullops-test PATH=/usr/sbin:/usr/bin:/sbin:/bin setpriv \
  --bounding-set=-sys_time,-sys_module,-sys_rawio,-syslog /lib/systemd/systemd
`

// newComputer boots one that sees some folders of this machine's under the same
// names: what the engine mounts into containers.
func newComputer(t *testing.T, engine string, folders ...string) *computer {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("a machine with systemd needs root")
	}
	s := &sshServer{dir: shortDir(t), port: portOf(freeAddress(t))}
	s.log = filepath.Join(s.dir, "sshd.log")
	for _, dir := range []string{"disk", "root"} {
		if err := os.Mkdir(filepath.Join(s.dir, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s.keys(t)
	writeFile(t, filepath.Join(s.dir, "config"), "ListenAddress 127.0.0.1:"+s.port+`
HostKey /etc/ssh/machine_key
AuthorizedKeysFile /etc/ssh/machine_people
PasswordAuthentication yes
UsePAM no
PidFile none
Subsystem sftp internal-sftp
`, 0o600)
	for name, text := range map[string]string{"power": power, "install": installs, "boot": boots} {
		writeFile(t, filepath.Join(s.dir, name), text, 0o600)
	}
	m := &computer{sshServer: s, operator: "petra", deployer: "dora"}
	m.switchOn(t, append(folders, s.dir), strings.TrimPrefix(engine, "unix://"))
	return m
}

func (m *computer) switchOn(t *testing.T, folders []string, socket string) {
	t.Helper()
	client, err := exec.LookPath("docker")
	if err != nil {
		t.Fatal(err)
	}
	said := filepath.Join(m.dir, "power.log")
	log := appendTo(t, said)
	defer func() { _ = log.Close() }()
	c := exec.Command("unshare", "--mount", "--propagation", "private", "sh", "-ec",
		`echo $$ >"$GROUP/cgroup.procs"; exec sh -e "$DIR/power"`)
	c.Env = append(cleanEnv(), "DIR="+m.dir, "ROOT="+filepath.Join(m.dir, "root"), "HASH="+m.hash,
		"ENGINE="+socket, "CLIENT="+client, "FOLDERS="+strings.Join(folders, " "), "GROUP="+makeCgroup(t))
	c.Stdout, c.Stderr = log, log
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = c.Wait(); close(ended) }() // its log says more
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the machine:\n%s\nits units:\n%s", lastLines(said, 20),
				m.try("sudo journalctl --no-pager -n 60"))
		}
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
		<-ended
	})
	m.awaitDoor(t)
}

// makeCgroup makes a control group for all of the machine's processes. systemd makes its
// own below it.
func makeCgroup(t *testing.T) string {
	t.Helper()
	parent := "/sys/fs/cgroup/systemd"
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		parent = "/sys/fs/cgroup"
	}
	dir, err := os.MkdirTemp(parent, "nullops-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		eventually(t, "the machine's control groups are gone", func() string {
			out, err := exec.Command("find", dir, "-depth", "-type", "d", "-exec", "rmdir", "{}",
				"+").CombinedOutput()
			if err != nil {
				return string(out)
			}
			return ""
		})
	})
	return dir
}

func (m *computer) awaitDoor(t *testing.T) {
	t.Helper()
	eventually(t, "the machine is up", func() string {
		if state := m.try("sudo systemctl is-active multi-user.target"); state != "active" {
			return state
		}
		return ""
	})
}

// try runs a shell line as the deployer, and returns what it said or why it did not run.
func (m *computer) try(line string) string {
	signer, err := ssh.ParsePrivateKey([]byte(m.key))
	if err != nil {
		return err.Error()
	}
	conn, err := ssh.Dial("tcp", "127.0.0.1:"+m.port, &ssh.ClientConfig{User: m.deployer,
		Auth: []ssh.AuthMethod{ssh.PublicKeys(signer)}, HostKeyCallback: ssh.InsecureIgnoreHostKey()})
	if err != nil {
		return err.Error()
	}
	defer func() { _ = conn.Close() }()
	session, err := conn.NewSession()
	if err != nil {
		return err.Error()
	}
	out, err := session.CombinedOutput(line)
	if err != nil {
		out = append(out, err.Error()...)
	}
	return strings.TrimSpace(string(out))
}

// unit returns a property of the agent's unit.
func (m *computer) unit(property string) string {
	return m.try("sudo systemctl show --value -p " + property + " nullops-agent.service")
}

// asAUnit is a machine as people have them: they sign in as themselves and use
// sudo, systemd runs, and Docker has yet to be installed. The agent becomes a unit,
// which comes back by itself from a crash and after a reboot.
func asAUnit(t *testing.T, p *product) {
	n := p.addNode(t, "ssh-unit", "workshop")
	m := newComputer(t, n.docker, filepath.Dir(n.data), n.run)
	good := object{"host": "127.0.0.1", "port": parsePort(t, m.port), "user": m.operator,
		"host_key": m.fingerprint, "password": sshPassword, "data": n.data, "run": n.run,
		"docker": "unix:///run/docker.sock", "subnets": n.subnets, "install_docker": true}
	failsWith(t, n.attempt(t, withFields(good, "user", "guest")), "inspect", "not_root", "sudo")
	m.installsAll(t, n, n.attempt(t, good))
	before := n.await(t, apiclient.NodeStatusOnline)
	m.comesBack(t, n, before)
	m.triedAgain(t, n, withFields(good, "user", m.deployer, "password", nil, "private_key", m.key),
		before)
}

// installsAll looks at what the first attempt that got through has done.
func (m *computer) installsAll(t *testing.T, n *node, a apiclient.Provision) {
	t.Helper()
	if a.State != apiclient.ProvisionStateReady {
		t.Fatalf("attempt %d: %s\n%+v", a.Number, textOf(a.Message), a)
	}
	if docker := a.Steps[2].Output; !strings.Contains(docker, "Setting up docker.io (99)") ||
		!strings.Contains(docker, "answers") {
		t.Errorf("apt-get did not install Docker: %s", docker)
	}
	if m.try("sudo systemctl is-enabled docker nullops-agent") != "enabled\nenabled" {
		t.Error("a unit was not enabled")
	}
	// promise: Y-09, Y-17
	settings := m.try("sudo stat -c '%a %U' /opt/nullops/agent.yaml; sudo cat /opt/nullops/agent.yaml")
	for _, part := range []string{"600 root\n", `"token":"nopa1_`, `"listen":":` + portOf(n.address),
		`"data":"` + n.data, `"docker":"unix:///run/docker.sock"`} {
		if !strings.Contains(settings, part) {
			t.Errorf("the agent's settings lack %s", part)
		}
	}
	if said := m.try("cat /opt/nullops/agent.yaml"); !strings.Contains(said, "Permission denied") {
		t.Error("whoever signs in there reads the agent's token")
	}
}

// comesBack kills the agent, and then the whole machine. Nobody helps.
func (m *computer) comesBack(t *testing.T, n *node, before apiclient.Node) {
	t.Helper()
	pid := m.unit("MainPID")
	m.try("sudo kill -9 " + pid)
	eventually(t, "systemd starts the agent again", func() string {
		if now := m.unit("MainPID"); now == pid || m.unit("ActiveState") != "active" {
			return "its process is " + now
		}
		return ""
	})
	boot := m.try("sudo systemctl show --value -p UserspaceTimestampMonotonic")
	m.try("sudo systemctl reboot")
	eventually(t, "the machine boots again", func() string {
		now := m.try("sudo systemctl show --value -p UserspaceTimestampMonotonic")
		if now == boot || strings.Contains(now, " ") {
			return now
		}
		return ""
	})
	m.awaitDoor(t)
	eventually(t, "the agent runs after a reboot", func() string {
		if state := m.unit("ActiveState"); state != "active" {
			return state
		}
		return ""
	})
	eventually(t, "the node is online after a reboot", func() string {
		now := n.show(t)
		if now.Status != apiclient.NodeStatusOnline || !now.Since.After(before.Since) {
			return string(now.Status)
		}
		return ""
	})
}

// triedAgain begins attempts on a machine that is set up already: one whose agent cannot stay up,
// and one that needs no input.
func (m *computer) triedAgain(t *testing.T, n *node, as object, before apiclient.Node) {
	t.Helper()
	m.try("sudo systemctl stop nullops-agent")
	n.await(t, apiclient.NodeStatusOffline)
	thief, err := net.Listen("tcp", n.address)
	if err != nil {
		t.Fatal(err)
	}
	// promise: Y-10
	failsWith(t, n.attempt(t, as), "start", "agent_failed", "address already in use")
	m.try("sudo systemctl stop nullops-agent") // with the port, it would be up again
	_ = thief.Close()
	n.addByCommand(t, []string{"node", "provision", n.name})
	again := listAttempts(t, n.p, n.name)[0]
	// promise: Y-07, Y-10
	if again.State != apiclient.ProvisionStateReady || again.Number != 4 ||
		!strings.Contains(again.Steps[3].Output, "is there already") ||
		m.unit("ActiveState") != "active" {
		t.Errorf("attempt %d: %s\n%+v", again.Number, textOf(again.Message), again)
	}
	listed, errs, code := n.p.admin.cli(t, "node", "attempts", n.name)
	if code != 0 || strings.Count(listed, "ready") != 2 {
		t.Errorf("exit code %d\n%s%s", code, listed, errs)
	}
	after := n.await(t, apiclient.NodeStatusOnline)
	if textOf(after.Thumbprint) != textOf(before.Thumbprint) ||
		textOf(after.TokenKid) == textOf(before.TokenKid) {
		t.Errorf("certificate %s, then %s; token %s, then %s", textOf(before.Thumbprint),
			textOf(after.Thumbprint), textOf(before.TokenKid), textOf(after.TokenKid))
	}
	m.try("sudo systemctl stop nullops-agent")
}
