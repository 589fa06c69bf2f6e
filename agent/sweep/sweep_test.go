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
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/internal/testpart"
	"github.com/nullops/nullops/pipeline"
)

// patience bounds every wait; seven agents share two cores here.
const patience = 5 * time.Minute

// TestMain lets more agents run at once than there are processors: they wait
// for containers most of their time.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// failpointNames returns where the agent dies: every failpoint at its first visit, and
// those that mean something else later at later ones too.
func failpointNames() []string {
	var all []string
	for _, name := range agent.Failpoints() {
		all = append(all, name+"=kill@1")
	}
	for k := 2; k <= mostDecisions; k++ {
		all = append(all, decided+strconv.Itoa(k))
	}
	return append(all, "journal.append=kill@3", "journal.sync=kill@5", "runtime.pull.after=kill@2",
		"runtime.probe.after=kill@2", "runtime.run.before=kill@2", "runtime.run.after=kill@2",
		"runtime.run.before=kill@4", "runtime.run.after=kill@4", "runtime.remove.before=kill@2",
		"runtime.create_ahead.after=kill@2", "sandbox.waits=kill@2", "sandbox.go=kill@3",
		"report.sent=kill@2", "report.sent=kill@3")
}

const (
	// decided is where a decision has just reached the disk. The agent dies at
	// each one of its life.
	decided = "journal.decided=kill@"
	// A life has between so many decisions: several may reach the disk at once.
	fewestDecisions, mostDecisions = 10, 36
)

// end is the number of a decision that a life did not come to.
type end struct{ atomic.Int64 }

// beyond reports whether a place comes after the end of every life.
func (e *end) beyond(place string) bool {
	k, ok := decisionOf(place)
	return ok && e.Load() > 0 && k > e.Load()
}

// noteSurvival notes that an agent did not die. Only a decision may come too late.
func (e *end) noteSurvival(t testing.TB, place, story string) {
	t.Helper()
	k, ok := decisionOf(place)
	if !ok || k <= fewestDecisions {
		t.Fatalf("the agent lived; %s was not visited:%s", place, story)
	}
	e.CompareAndSwap(0, k)
}

func decisionOf(place string) (int64, bool) {
	number, ok := strings.CutPrefix(place, decided)
	k, err := strconv.ParseInt(number, 10, 64)
	return k, ok && err == nil
}

// site is what all agents share.
type site struct {
	engine
	binary  string
	service pipeline.Image
	plugin  pipeline.Image
	end     end
}

// engine is what agents run containers on.
type engine interface {
	// agentFlags are those of an agent on it.
	agentFlags(n *node) []string
	// ledgerHost is where its containers reach this machine; empty is their gateway.
	ledgerHost() string
	// has reports whether an agent on it ever comes to a place.
	has(place string) bool
	// scanForLeaks lists what there is of an installation.
	scanForLeaks(t testing.TB, install string) []string
}

// dockerEngine is a Docker Engine.
type dockerEngine struct{ host string }

func (e dockerEngine) agentFlags(n *node) []string {
	return []string{"--agent.docker=" + e.host,
		// Sixty-four ranges beside those of the other tests.
		fmt.Sprintf("--agent.subnets=10.223.%d.0/22", 4*(n.n%64)), "--agent.guard=false"}
}

func (dockerEngine) ledgerHost() string { return "" }

func (dockerEngine) has(string) bool { return true }

func (e dockerEngine) scanForLeaks(t testing.TB, install string) (left []string) {
	t.Helper()
	found, err := dockertest.ScanForLeaks(t.Context(), e.host, install)
	if err != nil {
		t.Fatal(err)
	}
	return found.AddedSince(dockertest.LeakScan{})
}

// kill -9 at every place: the agent that starts on what is left settles, and
// nothing is left, nothing ran twice, and nothing was reported twice or never.
//
// fault: F20
func TestAgent_SurvivesKillAtEveryFailpoint(t *testing.T) {
	newSite(t).sweep(t, testpart.Pick(t, failpointNames()))
}

// sweep dies at all these places.
func (s *site) sweep(t *testing.T, places []string) {
	var mu sync.Mutex
	var settled []time.Duration
	t.Run("at", func(t *testing.T) {
		for i, place := range places {
			t.Run(place, func(t *testing.T) {
				t.Parallel()
				if s.end.beyond(place) || !s.has(place) {
					return
				}
				took, died := s.dieAt(t, place, i)
				mu.Lock()
				defer mu.Unlock()
				if died {
					settled = append(settled, took)
				}
			})
		}
	})
	slices.Sort(settled)
	if n := len(settled); n > 0 {
		t.Logf("%d kills; settled after the restart: p50 %s, p90 %s, max %s", n,
			settled[n/2], settled[n*9/10], settled[n-1])
	}
	// Of the parts that run on different days, one has the last decision.
	hasLast := slices.Contains(places, decided+strconv.Itoa(mostDecisions))
	if hasLast && s.end.Load() == 0 && !t.Failed() {
		t.Errorf("a life has more than %d decisions: die at each of them", mostDecisions)
	}
}

func newSite(t testing.TB) *site {
	t.Helper()
	host := dockertest.Host(t)
	s := &site{engine: dockerEngine{host: host}}
	s.service = dockertest.PublishActorImage(t, host, "nullops-test/actor",
		`ENTRYPOINT ["/actor"]`)
	s.plugin = dockertest.PublishActorImage(t, host, "nullops-test/record",
		`ENTRYPOINT ["/actor", "record"]`)
	s.binary = buildAgent(t)
	return s
}

func buildAgent(t testing.TB) string {
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
	t    testing.TB
	p    *plane
	dir  string
	run  string
	n    int
	port string

	mu sync.Mutex
	// ledger is what plugins wrote, in order: "create one".
	ledger []string
}

// dieAt lets an agent die at a place, and starts it again. It reports how long it
// took then to settle, and whether the agent came to that place at all.
func (s *site) dieAt(t testing.TB, place string, number int) (settled time.Duration, died bool) {
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
			s.end.noteSurvival(t, place, n.p.story())
			a.stop(t)
			n.check()
			return 0, false
		}
	}
	<-a.died
	if state, ok := a.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !state.Signaled() {
		t.Fatalf("the agent ended by itself: %v\n%s", a.cmd.ProcessState, a.log(t))
	}

	began := time.Now()
	a = n.start("")
	n.p.await(nil, n.p.ends()...)
	took := time.Since(began).Round(10 * time.Millisecond)
	n.p.want(n.goal(2, wire.WantGone))
	n.p.await(nil, wire.PhaseRemoved)
	n.check()
	a.stop(t)
	t.Logf("%s: settled %s after the restart", place, took)
	return took, true
}

// goal is a service, three plugins that may run once each, a question after the first of them,
// and another service. Two of them are prepared at once, and so have something to share.
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
			Component: &pipeline.Component{Network: true, Actions: []string{"create", "delete"}},
			Parameters: map[string]any{"name": string(key), "port": n.port,
				"host": n.ledgerHost()}}}
	}
	p := pipeline.Pipeline{Format: 1, Steps: []pipeline.Step{service("db"), plugin("one", "db"),
		{Key: "ask", Needs: []pipeline.StepKey{"one"},
			Approval: &pipeline.ApprovalStep{Prompt: "go on with ${{ deployment.name }}?"}},
		plugin("two", "ask"), plugin("three", "two"), service("web", "three")}}
	p.Order = []pipeline.StepKey{"db", "one", "ask", "two", "three", "web"}
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
	for _, key := range []string{"one", "two", "three"} {
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
	n.checkUndoing()
	install, err := os.ReadFile(filepath.Join(n.dir, "install"))
	if err != nil {
		n.t.Fatal(err)
	}
	// promise: I-04
	// promise: N-150
	// promise: N-152
	if left := n.scanForLeaks(n.t, strings.TrimSpace(string(install))); len(left) > 0 {
		n.t.Errorf("left: %v", left)
	}
	if entries, _ := filepath.Glob(filepath.Join(n.run, "*", "*")); len(entries) > 0 {
		n.t.Errorf("left in the run folder: %v", entries)
	}
}

// checkUndoing holds steps to being undone the other way round.
func (n *node) checkUndoing() {
	n.t.Helper()
	place := map[pipeline.StepKey]int{}
	for i, key := range n.goal(1, wire.WantPresent).Pipeline.Order {
		place[key] = i
	}
	n.p.mu.Lock()
	defer n.p.mu.Unlock()
	last := len(place)
	for _, e := range n.p.events {
		if e.Status != pipeline.StepUndoing {
			continue
		}
		if place[e.Step] > last {
			n.t.Errorf("%s was undone after what it needs", e.Step)
		}
		last = place[e.Step]
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
	a.cmd = exec.Command(n.binary, append([]string{"agent", "--agent.listen=" + n.p.address,
		"--agent.data=" + n.dir, "--agent.run=" + n.run, "--log.format=json", "--agent.probe=0s"},
		n.agentFlags(n)...)...)
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

func (a *process) stop(t testing.TB) {
	_ = a.cmd.Process.Signal(syscall.SIGTERM)
	timer := time.AfterFunc(patience, func() {
		t.Errorf("the agent did not end within %s of SIGTERM", patience)
		_ = a.cmd.Process.Kill()
	})
	defer timer.Stop()
	<-a.died
}

// log is the end of what the agent said.
func (a *process) log(t testing.TB) string {
	text, err := os.ReadFile(a.path)
	if err != nil {
		t.Error(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-25):], "\n")
}

// shortDir is a folder with a short name: it holds unix sockets.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "nsweep-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
