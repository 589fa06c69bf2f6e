package main_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/controlplane/acme/acmetest"
	"github.com/nullops/nullops/internal/testpart"
)

// fresh installs a release on a fresh machine as deploy/README.md says, with a domain and
// certificates of a public authority's software, and opens a first deployment over HTTPS.
func fresh(t *testing.T, w *world) {
	testpart.Rotate(t)
	r := makeRelease(t, "--only", "programs,archives,images,sums")
	newFreshMachine(t, w).reachesFirstURL(t, r)
}

// freshDomain is where the fresh machine is found. All names lead to the machine.
const freshDomain = "qa.test"

// freshAddress is the fresh machine's only address. It is in no network but its own.
const freshAddress = "10.79.0.2"

// waitFresh is how long the machine has for one answer.
const waitFresh = 2 * time.Minute

// freshMachine is a server on which nothing is but Debian with its package of Docker: files,
// network, processes and engine are its own. It knows no other machine than this one, whose
// registry and authority answer there at loopback.
type freshMachine struct {
	w       *world
	root    string
	pid     int
	network string // the file of its network namespace
}

// bootFresh makes the machine of a folder. It is the first process, and so everything ends with it.
const bootFresh = `
mount --bind "$ROOT" "$ROOT"
mount -t proc proc "$ROOT/proc"
for folder in /dev /sys; do mount --rbind "$folder" "$ROOT$folder"; done
mount -t tmpfs -o mode=755 none "$ROOT/run"
cd "$ROOT"
pivot_root . mnt
umount -l mnt
hostname fresh
ip link set lo up
ip link add eth0 type veth peer name cable
ip addr add ` + freshAddress + `/24 dev eth0
ip link set cable up
ip link set eth0 up
dockerd --cgroup-parent "$GROUP" --dns ` + freshAddress + ` >/var/log/docker.log 2>&1 &
trap : TERM
while :; do wait; sleep 1; done
`

func newFreshMachine(t *testing.T, w *world) *freshMachine {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("a machine of its own needs root")
	}
	m := &freshMachine{w: w, root: shortDir(t)}
	unpackDebian(t, m.root)
	writeFile(t, filepath.Join(m.root, "etc", "resolv.conf"), "nameserver "+freshAddress+"\n", 0o644)
	group := "/" + filepath.Base(m.root)
	t.Cleanup(func() { removeCgroups(t, group) })
	c := exec.Command("unshare", "--mount", "--propagation", "private", "--net", "--pid", "--ipc",
		"--uts", "--fork", "--kill-child", "sh", "-ec", bootFresh)
	c.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "ROOT=" + m.root, "GROUP=" + group}
	log := appendTo(t, filepath.Join(m.root, "boot.log"))
	c.Stdout, c.Stderr = log, log
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			said, _ := m.command(nil, "docker", "logs", "--tail", "5", "nullops-agent").CombinedOutput()
			t.Logf("its agent:\n%s", said)
		}
		_, _, _ = c.Process.Kill(), c.Wait(), log.Close()
		if t.Failed() {
			t.Logf("its engine:\n%s", lastLines(filepath.Join(m.root, "var/log/docker.log"), 20))
		}
	})
	m.awaitDocker(t, c.Process.Pid)
	serveNames(t, m.network)
	// The registry of the tests is on loopback, which is the only place without HTTPS.
	passBetween(t, m.network, w.registry, ownNetwork, w.registry)
	return m
}

func (m *freshMachine) awaitDocker(t *testing.T, parent int) {
	t.Helper()
	eventually(t, "the machine's engine answers", func() string {
		children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", parent, parent))
		if err != nil {
			return err.Error()
		}
		if _, err := fmt.Sscan(string(children), &m.pid); err != nil {
			return "it has not begun"
		}
		out, err := m.command(nil, "docker", "version").CombinedOutput()
		if err != nil {
			return string(out) + lastLines(filepath.Join(m.root, "boot.log"), 5)
		}
		return ""
	})
	m.network = fmt.Sprintf("/proc/%d/ns/net", m.pid)
}

// command is one of the machine's own programs.
func (m *freshMachine) command(env []string, args ...string) *exec.Cmd {
	c := exec.Command("nsenter", append([]string{fmt.Sprintf("--target=%d", m.pid), "--mount",
		"--net", "--pid", "--ipc", "--uts", "--root", "sh", "-c", `cd / && exec "$@"`, "sh"}, args...)...)
	c.Env = append([]string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root"}, env...)
	c.WaitDelay = time.Second
	return c
}

func (m *freshMachine) run(t *testing.T, env []string, stdin string, args ...string) string {
	t.Helper()
	c := m.command(env, args...)
	c.Stdin = strings.NewReader(stdin)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return string(out)
}

// reachesFirstURL does what the tutorial says, line by line, and takes as long as a stranger may
// wait at most. It logs how long that was: deploy/README.md says when it was measured.
func (m *freshMachine) reachesFirstURL(t *testing.T, r madeRelease) {
	t.Helper()
	authority := m.nearAuthority(t)
	m.bring(t, r, authority)
	lines := m.tutorialLines(t)
	options, ok := strings.CutPrefix(lines[0], "deploy/setup.sh ")
	if !ok {
		t.Fatalf("the tutorial begins with %q", lines[0])
	}
	setup := slices.Concat([]string{"/opt/setup/setup.sh"}, strings.Fields(options),
		[]string{"--release", "/opt/release", "--key", "/opt/trusted.pub", "--acme",
			authority.Directory, "--acme-roots", "/opt/authority.pem"})
	// Which image of PostgreSQL is all that differs from a machine on the internet.
	env := []string{"NULLOPS_POSTGRES_IMAGE=" + m.w.registry + "/shop/postgres:15"}
	began := time.Now()
	m.interrupt(t, env, "setup: made secrets/ingress_keys", setup...)
	m.interrupt(t, env, "Creating nullops_controlplane_1", setup...)
	said := m.run(t, env, "", setup...)
	t.Logf("set up after %s", time.Since(began).Round(time.Second))
	if !strings.Contains(said, "NullOps runs: https://"+freshDomain+":8080") {
		t.Fatalf("it says %s", said)
	}
	browser := m.browser(t, authority)
	m.opens(t, browser, "https://"+freshDomain+":8080/", "<title>")
	t.Logf("the UI answers over HTTPS after %s", time.Since(began).Round(time.Second))
	password := regexp.MustCompile(`(?m)^First admin: user admin, password (\S+)$`).FindStringSubmatch(
		m.run(t, nil, "", "sh", "-c", "docker logs nullops_controlplane_1 2>&1"))
	if password == nil {
		t.Fatal("the log has no password of the first admin")
	}
	first, rest := splitTutorial(t, lines[1:])
	url := m.followsTutorial(t, browser, first, password[1])
	m.opens(t, browser, url+"/healthz", "")
	waited := time.Since(began).Round(time.Second)
	t.Logf("the first deployment answers over HTTPS after %s", waited)
	// promise: D-01
	if waited > 10*time.Minute {
		t.Errorf("the first deployment answers after %s", waited)
	}
	m.deploysPullRequest(t, browser, rest)
	// Nothing is left to do, and what runs is not touched.
	listContainers := func() string {
		return m.run(t, nil, "", "docker", "ps", "--quiet", "--filter",
			"label=com.docker.compose.project=nullops")
	}
	before := listContainers()
	m.run(t, env, "", setup[0])
	if after := listContainers(); after != before {
		t.Errorf("run again, and its containers changed:\n%s\n%s", before, after)
	}
	m.opens(t, browser, url+"/healthz", "")
}

// nearAuthority starts Pebble beside the machine: they reach each other as they would on the
// internet, and each at port 80 and at its name.
func (m *freshMachine) nearAuthority(t *testing.T) *acmetest.Authority {
	t.Helper()
	asks := freeAddress(t)
	passBetween(t, ownNetwork, asks, m.network, freshAddress+":80")
	authority := acmetest.NewAuthorityForContainers(t, acmetest.NewNameServer(t), parsePort(t,
		portOf(asks)))
	port, _, _ := strings.Cut(strings.TrimPrefix(authority.Directory,
		"https://"+acmetest.ContainersHost+":"), "/")
	passBetween(t, m.network, freshAddress+":"+port, ownNetwork, "127.0.0.1:"+port)
	return authority
}

// bring puts on the machine what a stranger downloads, and the root that browsers and the command
// line trust: it is none that Debian has.
func (m *freshMachine) bring(t *testing.T, r madeRelease, authority *acmetest.Authority) {
	t.Helper()
	opt := filepath.Join(m.root, "opt")
	for _, dir := range []string{"setup", "program"} {
		if err := os.Mkdir(filepath.Join(opt, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.CopyFS(filepath.Join(opt, "release"), os.DirFS(r.dir)); err != nil {
		t.Fatal(err)
	}
	copyFile(t, r.public, filepath.Join(opt, "trusted.pub"), 0o644)
	unpack := func(name, to string) {
		runTool(t, "", "tar", "-xzf", filepath.Join(r.dir, name+".tar.gz"), "--strip-components=1", "-C",
			filepath.Join(opt, to))
	}
	unpack("nullops-setup-"+releasedVersion, "setup")
	unpack("nullops-"+releasedVersion+"-linux-"+runtime.GOARCH, "program")
	writeFile(t, filepath.Join(opt, "authority.pem"), authority.TLS+authority.Root, 0o644)
	writeFile(t, filepath.Join(opt, "browser.pem"), authority.Root, 0o644)
}

// interrupt runs the command until it says the line, and kills all of it then, as a lost connection
// to a server does.
func (m *freshMachine) interrupt(t *testing.T, env []string, line string, args ...string) {
	t.Helper()
	c := m.command(env, args...)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.Stderr = c.Stdout
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	lines, found := bufio.NewScanner(out), false
	for !found && lines.Scan() {
		said.WriteString(lines.Text() + "\n")
		found = strings.Contains(lines.Text(), line)
	}
	_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
	_ = c.Wait()
	if !found {
		t.Fatalf("it never said %q:\n%s", line, said.String())
	}
}

// browser trusts the authority, and looks names up on the machine.
func (m *freshMachine) browser(t *testing.T, authority *acmetest.Authority) *http.Client {
	t.Helper()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(authority.Root)) {
		t.Fatal("the authority has no root")
	}
	dial := func(_ context.Context, _, address string) (conn net.Conn, err error) {
		err = inNetwork(m.network, func() error {
			conn, err = net.Dial("tcp", freshAddress+":"+portOf(address))
			return err
		})
		return conn, err
	}
	return &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: dial, TLSClientConfig: &tls.Config{RootCAs: roots}}}
}

func (m *freshMachine) opens(t *testing.T, browser *http.Client, url, part string) {
	t.Helper()
	within(t, waitFresh, url+" answers over HTTPS", func() string {
		res, err := browser.Get(url)
		if err != nil {
			return err.Error()
		}
		defer res.Body.Close()
		var page strings.Builder
		_, err = bufio.NewReader(res.Body).WriteTo(&page)
		if err != nil || res.StatusCode != http.StatusOK || !strings.Contains(page.String(), part) {
			return fmt.Sprintf("%s %v %s", res.Status, err, page.String())
		}
		return ""
	})
}

// ownNetwork is the one that the tests run in, which is not entered: the main thread, whose network
// /proc/self names, may be one that entered another.
const ownNetwork = ""

// inNetwork runs one call in a network, and what the call opens stays there.
func inNetwork(file string, call func() error) error {
	if file == ownNetwork {
		return call()
	}
	return dockertest.InNetwork(file, call)
}

// passBetween has an address of one network lead to one of another.
func passBetween(t *testing.T, from, address, to, target string) {
	t.Helper()
	var l net.Listener
	err := inNetwork(from, func() (err error) {
		l, err = net.Listen("tcp", address)
		return err
	})
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
			go func() {
				var other net.Conn
				err := inNetwork(to, func() (err error) {
					other, err = net.Dial("tcp", target)
					return err
				})
				if err != nil {
					_ = conn.Close()
					return
				}
				joinBoth(conn, other)
			}()
		}
	}()
}

// serveNames is the machine's name server: it answers each question for an address with the
// machine's, and every other one with nothing.
func serveNames(t *testing.T, network string) {
	t.Helper()
	var l net.PacketConn
	err := inNetwork(network, func() (err error) {
		l, err = net.ListenPacket("udp", freshAddress+":53")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		packet := make([]byte, 512)
		for {
			n, from, err := l.ReadFrom(packet)
			if err != nil {
				return
			}
			_, _ = l.WriteTo(answerName(packet[:n]), from)
		}
	}()
}

// answerName makes the answer of the question's own bytes, as RFC 1035 lays them out.
func answerName(question []byte) []byte {
	const header = 12
	end := header
	for end < len(question) && question[end] != 0 {
		end += 1 + int(question[end])
	}
	end += 5 // the last label, the type and the class
	if end > len(question) {
		return nil
	}
	answer := append([]byte{}, question[:end]...)
	answer[2], answer[3] = 0x85, 0x80       // an answer, of the authority, which may be asked further
	copy(answer[6:header], make([]byte, 6)) // none of the other sections
	if question[end-3] == 1 {               // A
		answer[7] = 1
		answer = append(answer, 0xc0, header, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4)
		answer = append(answer, net.ParseIP(freshAddress).To4()...)
	}
	return answer
}

// removeCgroups removes what a killed engine leaves of its containers.
func removeCgroups(t *testing.T, group string) {
	t.Helper()
	folders, _ := filepath.Glob("/sys/fs/cgroup/*" + group)
	folders = append(folders, "/sys/fs/cgroup"+group)
	eventually(t, "the machine's control groups are gone", func() string {
		for _, folder := range folders {
			if _, err := os.Stat(folder); err != nil {
				continue
			}
			out, err := exec.Command("find", folder, "-depth", "-type", "d", "-exec", "rmdir", "{}",
				"+").CombinedOutput()
			if err != nil {
				return string(out)
			}
		}
		return ""
	})
}
