package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// product is NullOps as this demo runs it.
type product struct {
	check  bool
	binary string
	// dir holds data and logs; config is where the command line keeps its login.
	dir, config string
	docker      string
	registry    string
	shm         string
	ui, ingress string
	agent       string
	uiURL       string
	webURL      string
	password    string
	// traces is where spans are collected, if a command is run.
	traces string
	// ended yields when a server ends by itself.
	ended    chan error
	children []*child
	// lock keeps another demo away from the same data.
	lock *os.File
}

// child is a server we started.
type child struct {
	name string
	cmd  *exec.Cmd
	done chan struct{}
}

// dataDir is the demo's own, beside the data of 'nullops dev': 'make demo-clean' removes it.
const dataDir = ".nullops/demo"

func newProduct(check bool) (*product, error) {
	docker, registry := os.Getenv("NULLOPS_TEST_DOCKER"), os.Getenv("NULLOPS_TEST_REGISTRY")
	if docker == "" || registry == "" {
		return nil, errors.New("run it with `make demo`, which starts Docker and a registry")
	}
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	p := &product{check: check, binary: filepath.Join(root, "bin", "nullops"),
		dir: filepath.Join(root, dataDir), docker: docker, registry: registry,
		ended: make(chan error, 4)}
	if check {
		// A check begins with nothing, and takes with it only what it made.
		if err := os.MkdirAll(p.dir, 0o755); err != nil {
			return nil, err
		}
		if p.dir, err = os.MkdirTemp(p.dir, "check-"); err != nil {
			return nil, err
		}
		// The database runs as another user and must get through here.
		if err := os.Chmod(p.dir, 0o755); err != nil {
			return nil, err
		}
	}
	if p.lock, err = lockDemo(p.dir); err != nil {
		return nil, err
	}
	p.config = filepath.Join(p.dir, "config")
	if p.shm, err = makeTmpfs(); err != nil {
		return nil, err
	}
	err = writeEngine(p.dir, engine{Docker: docker, Tmpfs: p.shm, Registries: []string{registry},
		Private: os.Getenv("NULLOPS_TEST_DOCKER_PRIVATE") != ""})
	if err != nil {
		return nil, err
	}
	return p, p.choosePorts()
}

// demoLock is held as long as anything of the demo runs: its processes inherit it.
const demoLock = "demo.lock"

// lockDemo refuses a second demo on the same data: it would write down another engine and other
// logs before it failed, and the first would no longer find its own.
func lockDemo(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, demoLock), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("a demo of this checkout is running already, with its "+
			"data in %s: end it with Ctrl-C first", dir), f.Close())
	}
	return f, nil
}

// tmpfsParents are where the folder of secrets may be, below a name of its own.
var tmpfsParents = []string{"/run", "/dev/shm"}

const tmpfsPrefix = "nullops-demo-"

// makeTmpfs makes a folder that never reaches a disk, for the agent's secrets.
func makeTmpfs() (string, error) {
	const tmpfsMagic = 0x01021994
	for _, dir := range tmpfsParents {
		var s syscall.Statfs_t
		if syscall.Statfs(dir, &s) == nil && s.Type == tmpfsMagic {
			if made, err := os.MkdirTemp(dir, tmpfsPrefix); err == nil {
				return made, nil
			}
		}
	}
	return "", errors.New("neither /run nor /dev/shm is a tmpfs this user may write to")
}

// choosePorts prefers the well-known ones; a check takes any.
func (p *product) choosePorts() error {
	for _, c := range []struct {
		address *string
		port    string
	}{{&p.ui, "8080"}, {&p.ingress, "8081"}, {&p.agent, "5000"}} {
		l, err := net.Listen("tcp", "127.0.0.1:"+c.port)
		if p.check || err != nil {
			if err == nil {
				_ = l.Close()
			}
			if l, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
				return err
			}
		}
		*c.address = l.Addr().String()
		if err := l.Close(); err != nil {
			return err
		}
	}
	p.uiURL = "http://localhost:" + portOf(p.ui)
	return nil
}

func portOf(address string) string { return address[strings.LastIndexByte(address, ':')+1:] }

// startControlPlane runs `nullops dev`, and keeps the password it prints once.
func (p *product) startControlPlane(ctx context.Context) error {
	out := &watched{found: make(chan string, 1),
		line: regexp.MustCompile(`user admin, password (\S+)`)}
	err := p.start("nullops", out, nil, "dev", "--dev.data="+p.dir, "--http.listen="+p.ui,
		"--ingress.listen="+p.ingress, "--http.url="+p.uiURL,
		"--ingress.url=http://localhost:"+portOf(p.ingress))
	if err != nil {
		return err
	}
	if err := p.await(ctx, "the control plane", p.answers); err != nil {
		return err
	}
	select {
	case p.password = <-out.found:
		fmt.Println("   the first admin has a random password, printed once")
	default:
	}
	fmt.Println("   UI at", p.uiURL)
	return nil
}

// signIn trades the first password for a token; later demos have the token.
func (p *product) signIn(ctx context.Context) error {
	if p.password == "" {
		return p.say(ctx, nil, "list")
	}
	return p.say(ctx, strings.NewReader(p.password+"\n"), "login", p.uiURL, "--user", "admin",
		"--password-stdin")
}

func (p *product) apply(ctx context.Context) error {
	return p.say(ctx, nil, "apply", "-f", "deploy/examples/shop",
		"--set", "registry/local.host="+p.registry)
}

// enrol adds the node and hands its token to an agent of its own, which learns
// nothing else about the control plane.
func (p *product) enrol(ctx context.Context) error {
	token, err := p.nodeToken(ctx)
	if err != nil {
		return err
	}
	if err := rememberHelpers(ctx, p.dir); err != nil {
		return err
	}
	data := filepath.Join(p.dir, "agent")
	// A demo leaves nothing behind, and rules of the machine's firewall would stay.
	err = p.start("agent", nil, []string{"AGENT_TOKEN=" + token}, "agent",
		"--agent.listen="+p.agent, "--agent.data="+data, "--agent.run="+p.shm,
		"--agent.docker="+p.docker, "--agent.guard=false",
		// 'nullops dev' looks for it there.
		"--agent.sockets="+filepath.Join(p.dir, "sockets"))
	if err != nil {
		return err
	}
	if err := p.await(ctx, "the node", p.nodeOnline); err != nil {
		return err
	}
	return p.say(ctx, nil, "node", "list")
}

var tokenForm = regexp.MustCompile(`nopa1_[A-Za-z0-9_-]+`)

// nodeToken adds the node, or makes a new token for one from an earlier demo.
func (p *product) nodeToken(ctx context.Context) (string, error) {
	out, err := p.nullops(ctx, nil, "node", "add", "demo", "--env", "qa", "--address", p.agent)
	if err != nil && strings.Contains(out, "exists") {
		out, err = p.nullops(ctx, nil, "node", "rotate", "demo")
	}
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	token := tokenForm.FindString(out)
	if token == "" {
		return "", errors.New("'node add' showed no token")
	}
	// A demo's screen may be recorded; a token is worth a machine.
	fmt.Print(indentLines(strings.ReplaceAll(out, token, token[:12]+"…")))
	return token, nil
}

// start runs a server until close. Its lines go to a file.
func (p *product) start(name string, out *watched, env []string, args ...string) error {
	file, err := os.Create(filepath.Join(p.dir, name+".log"))
	if err != nil {
		return err
	}
	c := exec.Command(p.binary, args...)
	c.Env = append(os.Environ(), env...)
	if p.traces != "" {
		c.Env = append(c.Env, "OTEL_EXPORTER_OTLP_ENDPOINT="+p.traces)
	}
	c.Stdout, c.Stderr = file, file
	if out != nil {
		out.to = file
		c.Stdout = out
	}
	c.ExtraFiles = []*os.File{p.lock}
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM, Setpgid: true}
	if err := c.Start(); err != nil {
		return err
	}
	ch := &child{name: name, cmd: c, done: make(chan struct{})}
	p.children = append(p.children, ch)
	go func() {
		err := c.Wait()
		close(ch.done)
		_ = file.Close()
		select {
		case p.ended <- fmt.Errorf("%s ended by itself (%w); its last lines:\n%s", name, err,
			readTail(file.Name())):
		default:
		}
	}()
	return nil
}

// close stops what was started, the latest first, and removes what a check made.
func (p *product) close() error {
	var errs []error
	for _, c := range slices.Backward(p.children) {
		_ = c.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-c.done:
		case <-time.After(30 * time.Second):
			errs = append(errs, fmt.Errorf("%s did not stop within 30 s", c.name),
				c.cmd.Process.Kill())
			<-c.done
		}
	}
	errs = append(errs, p.leave(), os.RemoveAll(p.shm), p.lock.Close())
	if p.check {
		errs = append(errs, os.RemoveAll(p.dir))
	}
	return errors.Join(errs...)
}

// leave removes what a check made on an engine that keeps running: with the check's folder goes the
// id by which it could be found. Of a demo that stays, it says what is left. The context of the
// demo is over by now.
func (p *product) leave() error {
	if !p.check {
		return tellLeft(context.Background(), p.dir)
	}
	e, err := readEngine(p.dir)
	if err != nil || e.Private {
		return err
	}
	install, err := readInstall(p.dir)
	if err != nil {
		return err
	}
	return removeObjects(context.Background(), e, p.dir, install)
}

// nullops runs one command of the command line and returns what it said.
func (p *product) nullops(ctx context.Context, in *strings.Reader, args ...string) (string, error) {
	c := exec.CommandContext(ctx, p.binary, args...)
	c.Env = append(os.Environ(), "XDG_CONFIG_HOME="+p.config)
	if in != nil {
		c.Stdin = in
	}
	out, err := c.CombinedOutput()
	return string(out), err
}

// say runs a command in front of the user.
func (p *product) say(ctx context.Context, in *strings.Reader, args ...string) error {
	fmt.Println("   $ nullops", strings.Join(args, " "))
	c := exec.CommandContext(ctx, p.binary, args...)
	c.Env = append(os.Environ(), "XDG_CONFIG_HOME="+p.config)
	if in != nil {
		c.Stdin = in
	}
	c.Stdout, c.Stderr = &indented{to: os.Stdout}, &indented{to: os.Stderr}
	if err := c.Run(); err != nil {
		return fmt.Errorf("nullops %s: %w", args[0], err)
	}
	return nil
}

// await tries until it works, a server ends, or the time is over.
func (p *product) await(ctx context.Context, what string, try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	for {
		err := try(ctx)
		if err == nil {
			return nil
		}
		select {
		case ended := <-p.ended:
			return ended
		case <-ctx.Done():
			return fmt.Errorf("%s is not there after %s: %w", what, startWithin, err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// watched passes output on and picks one thing out of it.
type watched struct {
	mu    sync.Mutex
	line  *regexp.Regexp
	found chan string
	seen  bytes.Buffer
	to    *os.File
}

func (w *watched) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen.Write(b)
	if m := w.line.FindSubmatch(w.seen.Bytes()); m != nil {
		select {
		case w.found <- string(m[1]):
		default:
		}
		// The password must not stay in a log.
		return len(b), nil
	}
	return w.to.Write(b)
}

// indented writes lines below each other, however a command cuts what it writes into pieces.
type indented struct {
	to io.Writer
	// inLine is set while the last line is not ended yet.
	inLine bool
}

func (i *indented) Write(b []byte) (int, error) {
	var out strings.Builder
	for line := range strings.Lines(string(b)) {
		if !i.inLine {
			out.WriteString("   ")
		}
		out.WriteString(line)
		i.inLine = !strings.HasSuffix(line, "\n")
	}
	_, err := io.WriteString(i.to, out.String())
	return len(b), err
}

func indentLines(s string) string {
	return "   " + strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n   ") + "\n"
}

func readTail(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-15):], "\n")
}
