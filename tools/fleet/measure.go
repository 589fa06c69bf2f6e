package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/wait"
)

// measurement is one run of everything.
type measurement struct {
	options
	plane    *plane
	counters counters
	agents   []*agent
	door     *door

	empty                     use
	enrolled, online, ready   time.Duration
	slowest, typical          time.Duration
	requests, failed          int
	idleKiB, steady, peakKiB  float64
	reportsPerSecond, atFlood float64
	lost                      int64
	load                      string
}

// restFor is how long a control plane does nothing before its memory is looked at.
const restFor = 30 * time.Second

// busy is how many agents have a deployment that reports.
const busy = 50

func (m *measurement) all(ctx context.Context) error {
	m.load = loadNow()
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"start an empty control plane", m.start}, {"enrol", m.enrol},
		{"first contact", m.firstContact}, {"restart", m.restart},
		{"steady state", m.rest}, {"flood of reports", m.flood},
	} {
		began := time.Now()
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		fmt.Printf("fleet: %-30s %6.1f s\n", step.name, time.Since(began).Seconds())
	}
	return nil
}

// begin starts a control plane and defines what deployments need.
func (m *measurement) begin(ctx context.Context) error {
	if err := m.plane.start(ctx); err != nil {
		return err
	}
	if err := m.plane.signIn(ctx); err != nil {
		return err
	}
	return m.plane.command(ctx, "apply", "-f", "deploy/examples/shop", "--set",
		"registry/local.host="+os.Getenv("NULLOPS_TEST_REGISTRY"))
}

func (m *measurement) start(ctx context.Context) (err error) {
	if err := m.begin(ctx); err != nil {
		return err
	}
	// The one with agents is measured after a restart and a rest, and so is this one.
	m.plane.stop(syscall.SIGTERM)
	if err := m.plane.start(ctx); err != nil {
		return err
	}
	if err := wait.Sleep(ctx, restFor); err != nil {
		return err
	}
	m.empty, err = useOf(m.plane.process.Process.Pid)
	return err
}

// perEnvironment keeps environments of a size that people have.
const perEnvironment = 100

// enrol adds the nodes through the API, as a person or a script would. The
// control plane is stopped meanwhile from dialing nobody: agents listen first.
func (m *measurement) enrol(ctx context.Context) error {
	version, err := m.plane.api.GetVersionWithResponse(ctx)
	if err != nil || version.JSON200 == nil {
		return errors.Join(errors.New("ask for the version"), err)
	}
	domain := apiclient.PutEnvironmentJSONRequestBody{Domain: "localhost"}
	for i := range (m.options.agents + perEnvironment - 1) / perEnvironment {
		r, err := m.plane.api.PutEnvironmentWithResponse(ctx, environmentName(i), domain)
		if err != nil || r.JSON200 == nil {
			return errors.Join(errors.New("make an environment"), err)
		}
	}
	if m.door, err = newDoor(); err != nil {
		return err
	}
	// Until an agent listens, dials are refused at once.
	serving := ctx
	go func() {
		if err := m.door.serve(serving); err != nil {
			fmt.Fprintln(os.Stderr, "fleet:", err)
		}
	}()
	m.agents = make([]*agent, m.options.agents)
	began := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(16)
	for i := range m.agents {
		group.Go(func() error { return m.enrolOne(ctx, i, wire.Build(version.JSON200.Build)) })
	}
	err = group.Wait()
	m.enrolled = time.Since(began)
	return err
}

func environmentName(i int) string { return fmt.Sprintf("fleet-%d", i) }

func (m *measurement) enrolOne(ctx context.Context, i int, build wire.Build) error {
	a := &agent{name: fmt.Sprintf("load-%05d", i), build: build, counters: &m.counters,
		address: fmt.Sprintf("127.%d.%d.%d:%d", 1+i/62500, i/250%250, 1+i%250, m.door.port()),
		vitals:  m.vitals}
	var err error
	if a.identity, err = wire.NewIdentity(a.name); err != nil {
		return err
	}
	where := environmentName(i / perEnvironment)
	if i < busy {
		where = "qa"
	}
	r, err := m.plane.api.CreateNodeWithResponse(ctx, nil,
		apiclient.NodeCreate{Name: a.name, Environment: where, Address: a.address})
	if err != nil || r.JSON201 == nil {
		return errors.Join(fmt.Errorf("add node %s", a.name), err)
	}
	if a.memory.token, err = wire.ParseToken(r.JSON201.Token); err != nil {
		return err
	}
	a.memory.key = a.memory.token.Key()
	m.agents[i] = a
	return nil
}

// firstContact lets the agents listen; the control plane has been trying.
func (m *measurement) firstContact(ctx context.Context) error {
	m.counters.round.Store(1)
	for _, a := range m.agents {
		go func() {
			if err := a.listen(ctx, m.door); err != nil && ctx.Err() == nil {
				fmt.Fprintln(os.Stderr, "fleet:", err)
			}
		}()
	}
	return m.allSynced(ctx, 20*time.Minute)
}

func (m *measurement) allSynced(ctx context.Context, most time.Duration) error {
	next := time.Now().Add(10 * time.Second)
	return m.plane.await(ctx, most, func() bool {
		if time.Now().After(next) {
			next = next.Add(10 * time.Second)
			fmt.Printf("fleet: %d of %d online\n", m.counters.synced.Load(), len(m.agents))
		}
		return m.counters.synced.Load() == int64(len(m.agents))
	})
}

// restart kills the control plane and measures until everybody is back, while someone uses the API.
func (m *measurement) restart(ctx context.Context) error {
	m.plane.stop(syscall.SIGTERM)
	m.counters.synced.Store(0)
	m.counters.round.Store(2)
	began := time.Now()
	if err := m.plane.start(ctx); err != nil {
		return err
	}
	m.ready = time.Since(began)
	asking, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	var times []time.Duration
	all.Go(func() { times, m.failed = m.ask(asking) })
	err := m.allSynced(ctx, 30*time.Minute)
	m.online = time.Since(began)
	stop()
	all.Wait()
	m.requests = len(times)
	m.slowest, m.typical = computePercentile(times, 0.99), computePercentile(times, 0.5)
	return err
}

// ask uses the API as people do, fifty times a second.
func (m *measurement) ask(ctx context.Context) (times []time.Duration, failed int) {
	paths := []string{"/api/v1/deployments", "/api/v1/environments", "/api/v1/me",
		"/api/v1/projects", "/api/v1/nodes?limit=50", "/api/v1/queue"}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	var mu sync.Mutex
	var all sync.WaitGroup
	defer all.Wait()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			all.Wait()
			return times, failed
		case <-tick.C:
		}
		all.Go(func() {
			took, err := m.askOne(paths[i%len(paths)])
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed++
				return
			}
			times = append(times, took)
		})
	}
}

func (m *measurement) askOne(path string) (time.Duration, error) {
	r, err := http.NewRequest(http.MethodGet, m.plane.url+path, nil)
	if err != nil {
		return 0, err
	}
	r.Header.Set("Authorization", "Bearer "+m.plane.bearer)
	began := time.Now()
	answer, err := m.plane.people.Do(r)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return 0, err
	}
	if answer.StatusCode != http.StatusOK {
		return 0, errors.New(answer.Status)
	}
	return time.Since(began), nil
}

// rest watches the control plane while nothing happens.
func (m *measurement) rest(ctx context.Context) error {
	if err := wait.Sleep(ctx, restFor); err != nil {
		return err
	}
	from, err := useOf(m.plane.process.Process.Pid)
	if err != nil {
		return err
	}
	if err := wait.Sleep(ctx, m.idle); err != nil {
		return err
	}
	to, err := useOf(m.plane.process.Process.Pid)
	m.steady = cpuShare(from, to)
	m.idleKiB = (to.kib - m.empty.kib) / float64(len(m.agents))
	m.lost = m.counters.lost.Load()
	if got := m.counters.sessions.Load(); got != int64(len(m.agents)) {
		return fmt.Errorf("%d of %d sessions are left", got, len(m.agents))
	}
	return err
}

// flood has deployments report as fast as their reports are committed.
func (m *measurement) flood(ctx context.Context) error {
	versions := map[string]string{}
	p, err := m.plane.api.GetProjectWithResponse(ctx, "shop")
	if err != nil || p.JSON200 == nil {
		return errors.Join(errors.New("read the project"), err)
	}
	for _, s := range *p.JSON200.Services {
		if s.TagMode == apiclient.TagModeSelectable {
			versions[s.Step] = "v1.0.0"
		}
	}
	for i := range min(busy, len(m.agents)) {
		r, err := m.plane.api.CreateDeploymentWithResponse(ctx,
			&apiclient.CreateDeploymentParams{}, apiclient.DeploymentCreate{
				Name: fmt.Sprintf("busy-%d", i), Project: "shop", Environment: "qa",
				Versions: &versions})
		if err != nil || r.JSON201 == nil {
			return errors.Join(fmt.Errorf("deploy: %s", r.Body), err)
		}
	}
	if err := wait.Sleep(ctx, 5*time.Second); err != nil {
		return err
	}
	m.counters.flood.Store(true)
	defer m.counters.flood.Store(false)
	if err := wait.Sleep(ctx, 5*time.Second); err != nil {
		return err
	}
	from, err := useOf(m.plane.process.Process.Pid)
	if err != nil {
		return err
	}
	acked := m.counters.acked.Load()
	if err := wait.Sleep(ctx, 20*time.Second); err != nil {
		return err
	}
	to, err := useOf(m.plane.process.Process.Pid)
	m.reportsPerSecond = float64(m.counters.acked.Load()-acked) / to.at.Sub(from.at).Seconds()
	m.atFlood, m.peakKiB = cpuShare(from, to), to.kib
	return err
}
