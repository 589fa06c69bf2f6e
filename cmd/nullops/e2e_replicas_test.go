package main_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/jackc/pgx/v5"

	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/testpart"
)

// replica is one of several control planes on one database.
type replica struct {
	process *process
	admin   *person
	// metrics is where Prometheus would read; the product's own has none.
	metrics string
}

// startReplica starts another control plane beside the product's own.
func (p *product) startReplica(t *testing.T, name string) replica {
	t.Helper()
	address, metrics := freeAddress(t), freeAddress(t)
	env, args := p.settings()
	r := replica{metrics: metrics, process: startProcess(t, p.w.binary, name, p.dir, env,
		append([]string{"controlplane", "--http.listen=" + address, "--metrics.listen=" + metrics},
			args...)...)}
	p.awaitDoor(t, r.process, address)
	r.admin = p.through(t, "http://"+address)
	return r
}

// through is the admin, speaking to one of several control planes.
func (p *product) through(t *testing.T, url string) *person {
	t.Helper()
	other := *p
	other.url = url
	who := *p.admin
	who.p = &other
	return &who
}

// lease is who commands a node, as the database has it.
type lease struct {
	pid   int
	epoch int64
}

func (p *product) lease(t *testing.T, node string) (l lease) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), p.database)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	var holder string
	err = conn.QueryRow(t.Context(), `SELECT l.holder, l.epoch FROM node_leases l
		JOIN nodes n ON n.id = l.node_id WHERE n.name = $1`, node).Scan(&holder, &l.epoch)
	if err != nil {
		t.Fatal(err)
	}
	if parts := strings.Split(holder, "/"); len(parts) == 3 {
		l.pid, err = strconv.Atoi(parts[1])
	}
	if err != nil || l.pid == 0 {
		t.Fatalf("who is %q? %v", holder, err)
	}
	return l
}

// prober visits a URL again and again, and counts what testers would see.
type prober struct {
	good, bad atomic.Int64
	last      atomic.Value
	stop      func()
}

func (p *product) probe(t *testing.T, url string) *prober {
	t.Helper()
	b, done, over := &prober{}, make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		for {
			if a := p.visit(t, url+"/healthz"); a.status == http.StatusOK {
				b.good.Add(1)
			} else if t.Context().Err() == nil {
				b.bad.Add(1)
				b.last.Store(a.String())
			}
			select {
			case <-done:
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	b.stop = func() { close(done); <-over }
	return b
}

// replicas runs two control planes on one database, kills the one that commands
// the node, and freezes the other.
//
// fault: F9
func replicas(t *testing.T, w *world) {
	testpart.Rotate(t)
	p := startProduct(t, w)
	p.applyShop(t)
	p.define(t, "stays", webStep("web"))
	n := p.enrol(t, "shared", "qa")
	all := map[int]replica{}
	first := replica{process: p.controlPlane, admin: p.admin}
	all[first.process.cmd.Process.Pid] = first
	second := p.startReplica(t, "controlplane-2")
	all[second.process.cmd.Process.Pid] = second
	everyReplicaServes(t, first, second)
	stays := p.admin.deployReady(t, "stays", "stays", nil)
	url := serviceURL(t, stays, "web")
	p.answers(t, url)
	testers := p.probe(t, url)

	// The one with the lease dies.
	before := p.lease(t, n.name)
	died := time.Now()
	all[before.pid].process.kill()
	after := p.movedFrom(t, n.name, before)
	survivor := all[after.pid]
	t.Logf("kill -9: another control plane commands the node after %s",
		time.Since(died).Round(100*time.Millisecond))
	deploysThrough(t, survivor.admin, "after-kill")

	// Another one comes, and the one with the lease stands still for a while.
	third := p.startReplica(t, "controlplane-3")
	all[third.process.cmd.Process.Pid] = third
	third.speaksWith(t, 0)
	frozen := time.Now()
	if err := survivor.process.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	last := p.movedFrom(t, n.name, after)
	third.speaksWith(t, 1)
	t.Logf("SIGSTOP: another control plane commands the node after %s",
		time.Since(frozen).Round(100*time.Millisecond))
	deploysThrough(t, third.admin, "while-frozen")
	halfAMinute(t, frozen)
	// On waking up it finds something to tell the agent.
	waits := third.admin.deploy(t, "stays", "on-waking-up", nil)
	if err := survivor.process.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the frozen one sees that its session is over", func() string {
		return missingInLog(survivor.process, "a node is not ours to command any more")
	})
	third.admin.await(t, waits.Id, apiclient.DeploymentStatusReady)
	if r := third.admin.run(t, waits); r.Number != 1 {
		t.Errorf("what waited needed %d runs", r.Number)
	}
	third.admin.remove(t, waits.Id)
	// It serves people again, and what it is asked for goes through the other one.
	deploysThrough(t, survivor.admin, "after-thaw")
	if now := p.lease(t, n.name); now != last {
		t.Errorf("the lease went on to %+v, was %+v", now, last)
	}
	var shown apiclient.Node
	if third.admin.get(t, "/nodes/"+n.name, &shown); shown.Status != apiclient.NodeStatusOnline {
		t.Errorf("the node is %s: %s", shown.Status, textOf(shown.StatusDetail))
	}
	testers.stop()
	if testers.good.Load() == 0 || testers.bad.Load() > 0 {
		t.Errorf("of %d visits meanwhile %d failed, the last with %v",
			testers.good.Load()+testers.bad.Load(), testers.bad.Load(), testers.last.Load())
	}

	third.followsAgent(t, n)
	// Who stops orderly says so: nobody waits for its lease to end.
	third.process.stop(t)
	stopped := time.Now()
	p.movedFrom(t, n.name, last)
	t.Logf("SIGTERM: another control plane commands the node after %s",
		time.Since(stopped).Round(100*time.Millisecond))
	survivor.admin.remove(t, stays.Id)
}

// halfAMinute is long enough for who stands still to miss several of its leases,
// and whatever else its timers were for.
func halfAMinute(t *testing.T, frozen time.Time) {
	t.Helper()
	eventually(t, "it has stood still for half a minute", func() string {
		if still := time.Since(frozen); still < 30*time.Second {
			return still.String()
		}
		return ""
	})
}

// followsAgent looks at a control plane's links as the agent goes and comes.
func (r replica) followsAgent(t *testing.T, n *node) {
	t.Helper()
	n.agent.stop(t)
	r.speaksWith(t, 0)
	n.start(t)
	r.speaksWith(t, 1)
}

// speaksWith waits until a control plane has so many agents in its memory.
func (r replica) speaksWith(t *testing.T, agents int) {
	t.Helper()
	want := "\nnullops_node_links " + formatNumber(agents) + "\n"
	// promise: V-04
	eventually(t, formatNumber(agents)+" agents are connected", func() string {
		a, err := http.Get("http://" + r.metrics + "/metrics")
		if err != nil {
			return err.Error()
		}
		defer func() { _ = a.Body.Close() }()
		text, err := io.ReadAll(a.Body)
		if err != nil || !strings.Contains(string(text), want) {
			return "its metrics do not say so"
		}
		return ""
	})
}

// movedFrom waits until another control plane has the lease, with a higher
// epoch, and speaks with the agent.
func (p *product) movedFrom(t *testing.T, node string, before lease) (after lease) {
	t.Helper()
	eventually(t, "another control plane commands the node", func() string {
		if after = p.lease(t, node); after.pid == before.pid || after.epoch <= before.epoch {
			return "the lease is where it was"
		}
		return ""
	})
	return after
}

func deploysThrough(t *testing.T, who *person, name string) {
	t.Helper()
	d := who.deployReady(t, "stays", name, nil)
	who.remove(t, d.Id)
}

// everyReplicaServes watches on one control plane what is done through another.
func everyReplicaServes(t *testing.T, first, second replica) {
	t.Helper()
	d := first.admin.deploy(t, "stays", "watched", nil)
	live := second.admin.follow(t, "/deployments/"+d.Id+"/events", "")
	// promise: B-01, B-18
	live.awaitData(t, "deployment", `"status":"ready"`)
	ticketsHoldEverywhere(t, first.admin, second.admin, d.Id)
	list := first.admin.follow(t, "/events", "")
	second.admin.remove(t, d.Id)
	list.awaitData(t, "deployment", `"status":"removed"`) // promise: B-18
	first.admin.await(t, d.Id, apiclient.DeploymentStatusRemoved)
}

// ticketsHoldEverywhere asks one control plane for a ticket to a terminal, and
// has the terminal through another: the API says who may, and keeps no socket.
func ticketsHoldEverywhere(t *testing.T, asks, holds *person, deployment string) {
	t.Helper()
	var ticket apiclient.ReachTicket
	asks.want(t, http.StatusCreated, http.MethodPost,
		"/deployments/"+deployment+"/services/web/tickets", object{"kind": "terminal"}, &ticket)
	// promise: G-19
	if said := holds.greet(t, ticket.Ticket); said != `{"ready":true}` {
		t.Errorf("the other control plane says %s", said)
	}
	for _, who := range []*person{asks, holds} {
		if said := who.greet(t, ticket.Ticket); !strings.Contains(said, "ticket_invalid") {
			t.Errorf("a ticket that was used: %s", said)
		}
	}
}

// greet opens a connection into a service, and returns what is said first.
func (who *person) greet(t *testing.T, ticket string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ws, _, err := websocket.Dial(ctx, who.p.url+"/api/v1/reach", &websocket.DialOptions{
		HTTPHeader: http.Header{"Authorization": {"Bearer " + who.token}}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ws.CloseNow() }()
	hello, err := json.Marshal(object{"ticket": ticket, "command": []string{"/.nullops/init"}})
	if err == nil {
		err = ws.Write(ctx, websocket.MessageText, hello)
	}
	if err != nil {
		t.Fatal(err)
	}
	_, first, err := ws.Read(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return string(first)
}

// missingInLog says what is missing in a process's log.
func missingInLog(p *process, text string) (missing string) {
	log, err := os.ReadFile(p.log)
	switch {
	case err != nil:
		return err.Error()
	case !strings.Contains(string(log), text):
		return "its log does not say " + text
	}
	return ""
}
