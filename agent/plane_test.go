package agent_test

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/agent/wire/wiretest"
	"github.com/nullops/nullops/internal/failpoint"
	"github.com/nullops/nullops/pipeline"
)

const (
	digest   = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	password = "correct-horse-battery"
	patience = 60 * time.Second
)

// plane is a small control plane: it keeps what agents report, acknowledges
// it, and answers for secrets. It outlives agents.
type plane struct {
	t        *testing.T
	identity *wire.Identity
	token    wire.Token
	key      []byte
	// epoch is the control plane's; zero means the first.
	epoch uint64

	// telling keeps messages in the order in which they became true: a full list read before a goal
	// was set must not arrive after that goal.
	telling sync.Mutex

	mu      sync.Mutex
	changed chan struct{}
	goals   map[string]wire.Goal
	events  []wire.Event
	last    int64
	lines   []wire.LogLine
	asked   int
	signIns int
	silent  bool
	welcome wire.Welcome
	vitals  wire.Vitals
	// vitalsSeen counts them.
	vitalsSeen int
	// inventory is the last one reported, samples what is stored for each start of the agent; while
	// deaf, nothing is stored and nothing answered.
	inventory wire.Inventory
	samples   map[string][]int64
	deaf      bool
	// signs counts the signs of life by step.
	signs map[pipeline.StepKey]int
	// answers are those to offers, by the offer's id.
	answers map[string]wire.OfferAnswer
}

func newPlane(t *testing.T) *plane {
	id := wiretest.NewIdentity(t)
	return &plane{t: t, identity: id, token: wire.NewToken(id.SPKI()), key: make([]byte, 32),
		changed: make(chan struct{}), goals: map[string]wire.Goal{},
		signs: map[pipeline.StepKey]int{}, answers: map[string]wire.OfferAnswer{}}
}

// node is one life of an agent.
type node struct {
	*plane
	agent  *agent.Agent
	pipes  *wiretest.PipeListener
	cancel context.CancelFunc
	done   chan error
}

// boot starts an agent on a data folder. It ends with the test, or by stop.
func (p *plane) boot(dir string, r agent.Runtime, fail failpoint.Hook) *node {
	p.t.Helper()
	return p.bootWith(agent.Config{Data: dir, Failpoint: fail, Sandboxes: 2}, r)
}

func (p *plane) bootWith(c agent.Config, r agent.Runtime) *node {
	p.t.Helper()
	pipes := wiretest.NewPipeListener()
	c.Token, c.Build, c.Listener = &p.token, "dev", pipes
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	c.ListEvery = cmp.Or(c.ListEvery, 50*time.Millisecond)
	c.VitalsEvery = cmp.Or(c.VitalsEvery, 50*time.Millisecond)
	a, err := agent.New(c, r)
	if err != nil {
		p.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	n := &node{plane: p, agent: a, pipes: pipes, cancel: cancel, done: make(chan error, 1)}
	go func() { n.done <- a.Run(ctx) }()
	p.t.Cleanup(n.stop)
	return n
}

func (n *node) stop() {
	n.cancel()
	if err, running := <-n.done; running {
		if err != nil {
			n.t.Errorf("the agent ended with: %v", err)
		}
		close(n.done)
	}
}

func (n *node) dial(ctx context.Context) (*wire.ProvenConn, error) {
	return wire.Dial(ctx, n.dialConfig(max(n.epoch, 1)))
}

func (n *node) dialConfig(epoch uint64) wire.DialConfig {
	return wire.DialConfig{Address: "agent:5000", Identity: n.identity,
		Thumbprint: n.agent.Thumbprint(), NodeID: wiretest.NodeID, Kid: n.token.Kid,
		Key: n.token.Key(), Epoch: epoch, Build: "dev", Connect: n.pipes.Dial}
}

// connect opens the session and the log connection, and serves them.
func (n *node) connect() *wire.Session {
	n.t.Helper()
	s, err := n.tryConnect()
	if err != nil {
		n.t.Fatal(err)
	}
	return s
}

func (n *node) tryConnect() (*wire.Session, error) {
	conn, err := n.dialInTime()
	if err != nil {
		return nil, err
	}
	s, err := wire.OpenSession(n.t.Context(), conn)
	if err != nil {
		return nil, err
	}
	n.t.Cleanup(func() { _ = s.Close(wire.CodeGone, "the test is over") })
	go n.serve(s)
	if conn, err = n.dialInTime(); err != nil {
		return nil, err
	}
	logs, err := wire.OpenRunLogs(n.t.Context(), conn)
	if err != nil {
		return nil, err
	}
	n.t.Cleanup(func() { _ = logs.Close(wire.CodeGone, "the test is over") })
	go n.collect(logs)
	return s, nil
}

// dialInTime dials again when nobody could be proven in time: on a machine with
// seventy processes for each core that says nothing of the agent.
func (n *node) dialInTime() (conn *wire.ProvenConn, err error) {
	for range 15 {
		conn, err = n.dial(n.t.Context())
		if err == nil || !strings.Contains(err.Error(), "no proven connection within") {
			break
		}
	}
	return conn, err
}

func (n *node) serve(s *wire.Session) {
	ctx := context.Background()
	for {
		r, err := s.Receive(ctx)
		if err != nil {
			return
		}
		switch r := r.(type) {
		case wire.Welcome:
			n.update(func() { n.plane.welcome, n.plane.inventory = r, r.Inventory })
			_ = s.Send(ctx, wire.Ack{Seq: n.lastCommitted()})
			n.tellAll(ctx, s)
		case wire.Event:
			n.update(func() { n.commit(r) })
			_ = s.Send(ctx, wire.Ack{Seq: r.Seq})
		case wire.SecretsWanted:
			n.answer(ctx, s, r)
		case wire.RegistriesWanted:
			n.update(func() { n.plane.signIns++ })
			_ = s.Send(ctx, wire.Registries{})
		case wire.OfferAnswer:
			n.update(func() { n.plane.answers[r.ID] = r })
		case wire.Vitals:
			n.update(func() { n.plane.vitals, n.plane.vitalsSeen = r, n.plane.vitalsSeen+1 })
			if r.Samples != nil {
				n.store(ctx, s, *r.Samples)
			}
		case wire.Progress:
			n.update(func() { n.plane.signs[r.Step]++ })
		case wire.Samples:
			n.store(ctx, s, r)
		case wire.InventoryChanged:
			n.update(func() { n.plane.inventory = r.Inventory })
		}
	}
}

// commit keeps an event once, as the database does.
func (p *plane) commit(e wire.Event) {
	if e.Seq > p.last {
		p.last = e.Seq
		p.events = append(p.events, e)
	}
}

func (p *plane) answer(ctx context.Context, s *wire.Session, w wire.SecretsWanted) {
	p.mu.Lock()
	p.asked++
	silent, wanted := p.silent, p.goals[w.Deployment].Generation
	answer := wire.Secrets{Run: w.Run, Generation: w.Generation, Key: p.key,
		Outputs: map[pipeline.StepKey][]byte{},
		Values:  map[string]string{"password": password}}
	for _, e := range p.events {
		if e.Deployment == w.Deployment && len(e.Sealed) > 0 {
			answer.Outputs[e.Step] = e.Sealed
		}
		if e.Deployment == w.Deployment && e.Status == pipeline.StepRunning {
			answer.Begun = append(answer.Begun, e.Step)
		}
	}
	p.mu.Unlock()
	if wanted != w.Generation {
		answer = wire.Secrets{Run: w.Run, Generation: w.Generation,
			Refused: "this node has no such run at present"}
	}
	if !silent {
		_ = s.Send(ctx, answer)
	}
}

func (n *node) collect(s *wire.Session) {
	for {
		r, err := s.Receive(context.Background())
		if err != nil {
			return
		}
		if b, ok := r.(wire.LogBatch); ok {
			n.update(func() { n.lines = append(n.lines, b.Lines...) })
			_ = s.Send(context.Background(), wire.Ack{Seq: b.Seq})
		}
	}
}

func (p *plane) update(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *plane) lastCommitted() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

func (p *plane) full() wire.Goals {
	p.mu.Lock()
	defer p.mu.Unlock()
	g := wire.Goals{Full: true}
	for _, goal := range p.goals {
		g.Goals = append(g.Goals, goal)
	}
	return g
}

// tellAll sends every goal there is.
func (p *plane) tellAll(ctx context.Context, s *wire.Session) {
	p.telling.Lock()
	defer p.telling.Unlock()
	_ = s.Send(ctx, p.full())
}

// want sets a goal, and sends it on a session, if there is one.
func (p *plane) want(s *wire.Session, g wire.Goal) {
	p.telling.Lock()
	defer p.telling.Unlock()
	p.update(func() { p.goals[g.Deployment] = g })
	if s != nil {
		_ = s.Send(context.Background(), wire.Goals{Goals: []wire.Goal{g}})
	}
}

// until waits for something to become true of what was reported.
func (p *plane) until(what string, holds func() bool) {
	p.t.Helper()
	deadline := time.After(patience)
	for {
		p.mu.Lock()
		ok, changed := holds(), p.changed
		p.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			p.t.Fatalf("%s did not come; events: %s", what, p.story())
		}
	}
}

func (p *plane) untilPhase(deployment string, phase wire.Phase) {
	p.t.Helper()
	p.until(string(phase), func() bool { return p.phase(deployment) == phase })
}

// phase is the last one reported. The lock is held.
func (p *plane) phase(deployment string) (last wire.Phase) {
	for _, e := range p.events {
		if e.Deployment == deployment && e.Phase != "" {
			last = e.Phase
		}
	}
	return last
}

// story is all events in short.
func (p *plane) story() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := ""
	for _, e := range p.events {
		text += fmt.Sprintf("\n%s %s%s %s %s %s", e.At.Format("05.000"), e.Phase, e.Step, e.Status,
			e.Code, e.Message)
	}
	return text
}

func imageOf(name string) *pipeline.Image {
	return &pipeline.Image{Registry: "127.0.0.1:5001", Repository: name, Tag: "1", Digest: digest}
}

// shopGoal returns db, a plugin that makes a secret output, and web, which uses it.
func shopGoal(deployment string) wire.Goal {
	p := pipeline.Pipeline{Format: 1, Steps: []pipeline.Step{
		{Key: "db", Service: &pipeline.ServiceStep{Name: "db", Image: imageOf("db"),
			Ports: []pipeline.Port{{Name: "pg", Port: 5432}},
			Env:   map[string]string{"PASSWORD": "${{ secrets.password }}", "MODE": "test"}}},
		{Key: "make", Needs: []pipeline.StepKey{"db"}, Plugin: &pipeline.PluginStep{Name: "make",
			Image: imageOf("make"), Component: &pipeline.Component{Network: true,
				Actions: []string{"create", "delete"}},
			Parameters: map[string]any{"host": "${{ services.db.host }}",
				"port": "${{ services.db.port }}"},
			Secrets: map[string]string{"password": "${{ secrets.password }}"}}},
		{Key: "web", Needs: []pipeline.StepKey{"make"}, Service: &pipeline.ServiceStep{Name: "web",
			Image: imageOf("web"), Ports: []pipeline.Port{{Name: "http", Port: 80, Expose: true}},
			Env: map[string]string{"URL": "${{ steps.make.outputs.url }}"}}},
	}}
	p.Order, _ = pipeline.Order(p)
	return wire.Goal{Deployment: deployment, Generation: 1, Want: wire.WantPresent,
		Run: "run-" + deployment, Pipeline: p,
		Context: pipeline.Context{ID: deployment, Name: "login", Project: "shop"}}
}

func goneGoal(deployment string) wire.Goal {
	g := shopGoal(deployment)
	g.Generation, g.Want = 2, wire.WantGone
	return g
}
