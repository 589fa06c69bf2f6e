package sweep_test

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// patience bounds every wait; seven agents share two cores here.
const patience = 90 * time.Second

// TestMain lets more agents run at once than there are processors: they wait
// for containers most of their time.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// places are where the agent dies: every failpoint at its first visit, and
// those that mean something else later at later ones too.
func places() []string {
	var all []string
	for _, name := range agent.Failpoints() {
		all = append(all, name+"=kill@1")
	}
	for _, name := range []string{"journal.append", "journal.synced", "runtime.pull.after",
		"runtime.run.before", "runtime.run.after", "runtime.remove.before", "report.sent"} {
		all = append(all, name+"=kill@2", name+"=kill@3")
	}
	return append(all, "journal.sync=kill@5", "journal.synced=kill@8", "runtime.probe.after=kill@2",
		"runtime.run.before=kill@4", "runtime.run.after=kill@4")
}

// site is what all agents share.
type site struct {
	docker  string
	binary  string
	service pipeline.Image
	plugin  pipeline.Image
}

// kill -9 at every place: the agent that starts on what is left settles, and
// nothing is left, nothing ran twice, and nothing was reported twice or never.
func TestAgent_SurvivesKillAtEveryFailpoint(t *testing.T) {
	s := &site{docker: dockertest.Host(t)}
	s.service = dockertest.Publish(t, s.docker, "nullops-test/actor", `ENTRYPOINT ["/actor"]`)
	s.plugin = dockertest.Publish(t, s.docker, "nullops-test/record",
		`ENTRYPOINT ["/actor", "record"]`)
	s.binary = build(t)
	var mu sync.Mutex
	var settled []time.Duration
	t.Run("at", func(t *testing.T) {
		for i, place := range places() {
			t.Run(place, func(t *testing.T) {
				t.Parallel()
				took := s.dieAt(t, place, i)
				mu.Lock()
				defer mu.Unlock()
				settled = append(settled, took)
			})
		}
	})
	slices.Sort(settled)
	if n := len(settled); n > 0 {
		t.Logf("%d kills; settled after the restart: p50 %s, p90 %s, max %s", n,
			settled[n/2], settled[n*9/10], settled[n-1])
	}
}

func build(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "nullops-failpoints")
	c := exec.CommandContext(t.Context(), "go", "build", "-tags", "failpoints", "-trimpath",
		"-buildvcs=false", "-ldflags", "-s -w -X main.build=sweep", "-o", path, "../../cmd/nullops")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("build nullops with failpoints: %v\n%s", err, out)
	}
	return path
}

// node is a machine on which agents live and die.
type node struct {
	*site
	t    *testing.T
	p    *plane
	dir  string
	run  string
	n    int
	port string

	mu sync.Mutex
	// ledger is what plugins wrote, in order: "create one".
	ledger []string
}

func (s *site) dieAt(t *testing.T, place string, number int) time.Duration {
	n := &node{site: s, t: t, dir: filepath.Join(shortDir(t), "data"), run: dockertest.RunDir(t),
		n: number, p: newPlane(t, dockertest.FreeAddress(t))}
	n.openLedger()
	n.p.want(n.goal(1, wire.WantPresent))
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var plane sync.WaitGroup
	plane.Go(func() { n.p.run(ctx) })
	defer plane.Wait()
	defer stop()

	a := n.start("NULLOPS_FAILPOINT=" + place)
	if n.p.await(a.died, wire.PhaseReady) {
		n.p.want(n.goal(2, wire.WantGone))
		if n.p.await(a.died, wire.PhaseRemoved) {
			t.Fatalf("the agent lived; %s was not visited:%s", place, n.p.story())
		}
	}
	<-a.died
	if state, ok := a.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !state.Signaled() {
		t.Fatalf("the agent ended by itself: %v\n%s", a.cmd.ProcessState, a.log(t))
	}

	began := time.Now()
	a = n.start("")
	n.p.await(nil, wire.PhaseReady, wire.PhaseFailed, wire.PhaseRemoved)
	took := time.Since(began).Round(10 * time.Millisecond)
	n.p.want(n.goal(2, wire.WantGone))
	n.p.await(nil, wire.PhaseRemoved)
	n.check()
	a.stop(t)
	t.Logf("settled %s after the restart", took)
	return took
}

// goal is a service, two plugins that may run once each, a question between them,
// and another service.
func (n *node) goal(generation int64, want wire.Want) wire.Goal {
	service := func(key pipeline.StepKey, needs ...pipeline.StepKey) pipeline.Step {
		return pipeline.Step{Key: key, Needs: needs, Service: &pipeline.ServiceStep{
			Name: string(key), Image: &n.service, Command: []string{"serve", "80"},
			Ports: []pipeline.Port{{Name: "http", Port: 80}},
			Ready: &pipeline.Readiness{TCP: &pipeline.TCPProbe{Port: 80}}}}
	}
	plugin := func(key pipeline.StepKey, needs ...pipeline.StepKey) pipeline.Step {
		return pipeline.Step{Key: key, Needs: needs, Plugin: &pipeline.PluginStep{
			Name: string(key), Image: &n.plugin,
			Component:  &pipeline.Component{Network: true, Actions: []string{"create", "delete"}},
			Parameters: map[string]any{"name": string(key), "port": n.port}}}
	}
	p := pipeline.Pipeline{Format: 1, Steps: []pipeline.Step{service("db"), plugin("one", "db"),
		{Key: "ask", Needs: []pipeline.StepKey{"one"},
			Approval: &pipeline.ApprovalStep{Prompt: "go on with ${{ deployment.name }}?"}},
		plugin("two", "ask"), service("web", "two")}}
	p.Order = []pipeline.StepKey{"db", "one", "ask", "two", "web"}
	id := fmt.Sprintf("0199a000-0000-7000-8000-%012d", n.n)
	return wire.Goal{Deployment: id, Generation: generation, Want: want, Run: "run-1", Pipeline: p,
		Context: pipeline.Context{ID: id, Name: "sweep", Project: "sweep"}}
}

// openLedger listens where containers can reach it.
func (n *node) openLedger() {
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		n.t.Fatal(err)
	}
	_, n.port, _ = net.SplitHostPort(l.Addr().String())
	server := httptest.NewUnstartedServer(http.HandlerFunc(
		func(_ http.ResponseWriter, r *http.Request) {
			n.mu.Lock()
			defer n.mu.Unlock()
			n.ledger = append(n.ledger, r.URL.Query().Get("line"))
		}))
	_ = server.Listener.Close()
	server.Listener = l
	server.Start()
	n.t.Cleanup(server.Close)
}

// check looks at everything that could be wrong.
func (n *node) check() {
	n.t.Helper()
	n.mu.Lock()
	ledger := slices.Clone(n.ledger)
	n.mu.Unlock()
	count := func(line string) (c int) {
		for _, l := range ledger {
			if l == line {
				c++
			}
		}
		return c
	}
	for _, key := range []string{"one", "two"} {
		made, undone := count("create "+key), count("delete "+key)
		if made > 1 {
			n.t.Errorf("plugin %s ran %d times: %q", key, made, ledger)
		}
		if made == 1 && undone == 0 ||
			slices.Index(ledger, "delete "+key) < slices.Index(ledger, "create "+key) {
			n.t.Errorf("plugin %s was not undone: %q", key, ledger)
		}
	}
	if one := slices.Index(ledger, "delete one"); one >= 0 && slices.Contains(ledger, "create two") &&
		one < slices.Index(ledger, "delete two") {
		n.t.Errorf("undone in the wrong order: %q", ledger)
	}
	install, err := os.ReadFile(filepath.Join(n.dir, "install"))
	if err != nil {
		n.t.Fatal(err)
	}
	left, err := dockertest.Look(n.t.Context(), n.docker, strings.TrimSpace(string(install)))
	if err != nil {
		n.t.Fatal(err)
	}
	// promise: N-150
	// promise: N-152
	if len(left) > 0 {
		n.t.Errorf("left: %v", left)
	}
	if entries, _ := filepath.Glob(filepath.Join(n.run, "*", "*")); len(entries) > 0 {
		n.t.Errorf("left in the run folder: %v", entries)
	}
}

// process is one life of the agent.
type process struct {
	cmd  *exec.Cmd
	path string
	died chan struct{}
}

func (n *node) start(env string) *process {
	n.t.Helper()
	a := &process{path: filepath.Join(filepath.Dir(n.dir), "agent.log"), died: make(chan struct{})}
	log, err := os.OpenFile(a.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		n.t.Fatal(err)
	}
	a.cmd = exec.Command(n.binary, "agent", "--agent.listen="+n.p.address, "--agent.data="+n.dir,
		"--agent.run="+n.run, "--agent.docker="+n.docker, "--log.format=json",
		// Sixty-four ranges beside those of the other tests.
		fmt.Sprintf("--agent.subnets=10.223.%d.0/22", 4*(n.n%64)))
	a.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "AGENT_TOKEN=" + n.p.token.Reveal(), env}
	a.cmd.Stdout, a.cmd.Stderr = log, log
	if err := a.cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
	go func() {
		_ = a.cmd.Wait() // how it ended is in ProcessState
		_ = log.Close()
		close(a.died)
	}()
	n.t.Cleanup(func() {
		a.stop(n.t)
		if n.t.Failed() {
			n.t.Logf("the agent said:\n%s", a.log(n.t))
		}
	})
	return a
}

func (a *process) stop(t *testing.T) {
	_ = a.cmd.Process.Signal(syscall.SIGTERM)
	timer := time.AfterFunc(30*time.Second, func() {
		t.Error("the agent did not end within 30 s of SIGTERM")
		_ = a.cmd.Process.Kill()
	})
	defer timer.Stop()
	<-a.died
}

// log is the end of what the agent said.
func (a *process) log(t *testing.T) string {
	text, err := os.ReadFile(a.path)
	if err != nil {
		t.Error(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-25):], "\n")
}

// shortDir is a folder with a short name: it holds unix sockets.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "nsweep-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
