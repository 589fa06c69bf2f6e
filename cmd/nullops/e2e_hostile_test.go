package main_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/agent/wire/wiretest"
	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/testpart"
)

const (
	// assault is how long each side is attacked.
	assault = 6 * time.Second
	// hostileNodes attack at once: each has a session and a log connection.
	hostileNodes = 4
	// tolerated is what an attack may cost at most, in memory: sixteen messages
	// of a mebibyte wait for each of the connections, read and decoded.
	tolerated = 512 << 20
)

// hostilePeers speaks the real protocol as agents that forge and break what
// they can, against the real control plane, and as strangers and a control
// plane gone mad against the real agent.
//
// threat: T35, T37, T38
func hostilePeers(t *testing.T, w *world) {
	testpart.Rotate(t)
	p := startProduct(t, w)
	p.applyShop(t)
	p.define(t, "victim", webStep("web"))
	victim := p.enrol(t, "victim", "qa")
	d := p.admin.deployReady(t, "victim", "victim", nil)
	victim.agent.stop(t) // or it would change its rows itself
	eventually(t, "the victim rests", func() string {
		shown := victim.show(t)
		if detail := textOf(shown.StatusDetail); shown.Status != apiclient.NodeStatusOffline ||
			!strings.HasPrefix(detail, "nothing answers") {
			return string(shown.Status) + ": " + detail
		}
		return ""
	})
	run := p.admin.run(t, d)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	f := newForger(t, d.Id, run.Id, "victim", textOf(victim.show(t).TokenKid))

	// What its agent measured last is written a moment later.
	before, memory := "", memoryNow(t, p.controlPlane)
	eventually(t, "the victim's rows rest", func() string {
		last := before
		if before = p.rowsOf(t, d.Id, "victim"); before == last {
			return ""
		}
		time.Sleep(2 * time.Second) // longer than measurements are gathered
		return diffLines(last, before)
	})
	var all sync.WaitGroup
	for i := range hostileNodes {
		all.Add(1)
		h := p.hostileAgent(t, fmt.Sprintf("hostile-%d", i), f.with(seed+uint64(i)))
		go func() { defer all.Done(); <-h }()
	}
	all.Wait()
	// T35, T38: what a node says of others changes nothing, their hosts included.
	if after := p.rowsOf(t, d.Id, "victim"); after != before {
		t.Errorf("another node's rows changed, seed %d:\n%s", seed, diffLines(before, after))
	}
	grown := memoryPeak(t, p.controlPlane) - memory
	t.Logf("%d messages, %d sessions; control plane grew by %d MiB",
		f.sent.Load(), f.sessions.Load(), grown>>20)
	if grown > tolerated || f.sessions.Load() == 0 {
		t.Errorf("the control plane grew by %d MiB in %d sessions", grown>>20, f.sessions.Load())
	}
	if f.leaked.Load() { // T37
		t.Error("a node was given the secrets of another one's run")
	}
	p.controlPlane.unhurt(t)
	victim.start(t)
	victim.await(t, apiclient.NodeStatusOnline)
	p.admin.await(t, d.Id, apiclient.DeploymentStatusReady)
	p.answers(t, serviceURL(t, d, "web"))
	hostileControlPlane(t, w, f.with(seed))
}

// unhurt holds a program to what an attack must not do.
func (p *process) unhurt(t *testing.T) {
	t.Helper()
	log, err := os.ReadFile(p.log)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"panic", "fatal error", "DATA RACE"} {
		if at := bytes.Index(log, []byte(bad)); at >= 0 {
			t.Errorf("%s: %.500s", p.name, log[at:])
		}
	}
	if p.hasEnded() {
		t.Errorf("%s is gone", p.name)
	}
}

// rowsOf is everything the database has about one deployment and one node.
func (p *product) rowsOf(t *testing.T, deployment, node string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), p.database)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	text := func(sql string, args ...any) (all string) {
		t.Helper()
		if err := conn.QueryRow(t.Context(), sql, args...).Scan(&all); err != nil {
			t.Fatal(err)
		}
		return all
	}
	// A lease is renewed while its node is away. It, alerts and what a deployment holds are the
	// control plane's own.
	places := text(`SELECT string_agg(table_name || ' ' || column_name, ',' ORDER BY 1)
		FROM information_schema.columns JOIN information_schema.tables USING (table_name, table_schema)
		WHERE table_schema = 'public' AND table_type = 'BASE TABLE' AND data_type = 'uuid'
			AND (column_name IN ('deployment_id', 'node_id', 'run_id')
				OR table_name IN ('deployments', 'nodes') AND column_name = 'id')
			AND table_name NOT IN ('node_leases', 'alerts', 'usage_open', 'usage_events',
				'usage_ledger')`)
	var b strings.Builder
	for place := range strings.SplitSeq(places, ",") {
		table, column, _ := strings.Cut(place, " ")
		b.WriteString(place + "\n" + text(`SELECT coalesce(string_agg(r::text, E'\n'
			ORDER BY r::text), '') FROM `+table+` r WHERE r.`+column+` IN (SELECT $1::uuid
			UNION SELECT id FROM nodes WHERE name = $2
			UNION SELECT id FROM runs WHERE deployment_id = $1::uuid)`, deployment, node) + "\n")
	}
	return b.String()
}

// diffLines returns the lines that are in one text only.
func diffLines(before, after string) string {
	var b strings.Builder
	for _, side := range []struct{ sign, text, other string }{
		{"-", before, after}, {"+", after, before}} {
		for line := range strings.Lines(side.text) {
			if !strings.Contains(side.other, line) {
				fmt.Fprintf(&b, "%s %.4000s\n", side.sign, line)
			}
		}
	}
	return b.String()
}

func memoryNow(t *testing.T, p *process) int64  { return memoryOf(t, p, "VmRSS") }
func memoryPeak(t *testing.T, p *process) int64 { return memoryOf(t, p, "VmHWM") }

func memoryOf(t *testing.T, p *process, what string) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		t.Fatalf("%s: %v", p.name, err)
	}
	found := regexp.MustCompile(what + `:\s+(\d+) kB`).FindSubmatch(status)
	if found == nil {
		t.Fatalf("%s has no %s", p.name, what)
	}
	n, err := strconv.ParseInt(string(found[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n << 10
}

// hostileAgent adds a node whose agent is ours, and attacks the control plane that connects. The
// channel is closed when it is over.
func (p *product) hostileAgent(t *testing.T, name string, f *forger) <-chan struct{} {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var made apiclient.NodeEnrolment
	p.admin.want(t, http.StatusCreated, http.MethodPost, "/nodes", object{"name": name,
		"environment": "qa", "address": l.Addr().String()}, &made)
	token, err := wire.ParseToken(made.Token)
	if err != nil {
		t.Fatal(err)
	}
	until := time.Now().Add(assault)
	wiretest.NewAgent(t, wiretest.AgentConfig{Build: "e2e", Listener: l,
		Verifier: func(*wiretest.MemoryVerifier) wire.Verifier {
			return wiretest.NewMemoryVerifier(token)
		},
		Hostile: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			f.answer(w, r, until)
		})})
	over := make(chan struct{})
	time.AfterFunc(time.Until(until), func() { close(over) })
	return over
}

// answer is one connection: now and then no session at all, else one in which
// everything that is said is forged.
func (f *forger) answer(w http.ResponseWriter, r *http.Request, until time.Time) {
	const location = "http://169.254.169.254/"
	switch f.pick(8) {
	case 0:
		http.Redirect(w, r, location, http.StatusFound)
		return
	case 1:
		http.Redirect(w, r, location, http.StatusTemporaryRedirect)
		return
	case 2:
		w.Header().Set("WWW-Authenticate", "Basic")
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	s, err := serveRaw(w, r)
	if err != nil {
		return
	}
	defer func() { _ = s.conn.Close() }()
	f.sessions.Add(1)
	go f.overhear(s)
	samples := []string{logBatch}
	if r.URL.Path == wire.PathSession {
		samples = f.reports
		_ = s.write(opText, f.samples[welcome])
	}
	for n := 20 + f.pick(400); n > 0 && time.Now().Before(until); n-- {
		if s.write(opText, f.forge(samples)) != nil {
			return
		}
	}
	f.violate(s)
}

// overhear reads what the control plane says: secrets of a run that is not on
// this node must not be among it.
func (f *forger) overhear(s *socket) {
	for {
		op, data, err := s.read()
		if err != nil {
			return
		}
		var m struct {
			Type    string
			Payload wire.Secrets
		}
		if op == opText && json.Unmarshal(data, &m) == nil && m.Type == "secrets" &&
			(len(m.Payload.Key) > 0 || len(m.Payload.Values) > 0) {
			f.leaked.Store(true)
		}
	}
}

// hostileControlPlane attacks an agent of its own: first as strangers, then as
// the control plane that made its token.
func hostileControlPlane(t *testing.T, w *world, f *forger) {
	id := wiretest.NewIdentity(t)
	token := wire.NewToken(id.SPKI())
	n := &node{p: &product{w: w, dir: shortDir(t)}, name: "attacked", binary: w.binary,
		address: freeAddress(t), docker: w.docker, data: filepath.Join(shortDir(t), "data"),
		run: dockertest.RunDir(t), subnets: fmt.Sprintf("10.222.%d.0/20", 16*(w.ranges.Add(1)%16)),
		token: token.Reveal()}
	n.start(t)
	n.p.awaitDoor(t, n.agent, n.address)
	config := wire.DialConfig{Address: n.address, Identity: id, Build: "e2e", Epoch: 1,
		NodeID: wiretest.NodeID, Kid: token.Kid, Key: token.Key()}
	memory := memoryNow(t, n.agent)
	until := time.Now().Add(assault)
	stop := connectStrangers(n.address)
	var attacks, late atomic.Int64
	var attackers sync.WaitGroup
	for range 3 {
		attackers.Go(func() {
			// On a busy machine five seconds may be too short once; for ever is not.
			for time.Now().Before(until) || attacks.Load() == 0 && late.Load() < 20 {
				conn, err := wire.Dial(t.Context(), config)
				if err != nil {
					late.Add(1)
					continue
				}
				f.attack(conn, until)
				attacks.Add(1)
			}
		})
	}
	attackers.Wait()
	stop()
	grown := memoryPeak(t, n.agent) - memory
	t.Logf("%d attacks, %d dials failed; the agent grew by %d MiB", attacks.Load(), late.Load(),
		grown>>20)
	if attacks.Load() == 0 {
		t.Error("strangers keep the control plane out") // T24
	}
	if grown > tolerated/2 {
		t.Errorf("the agent grew by %d MiB", grown>>20)
	}
	n.agent.unhurt(t)
	conn, err := wire.Dial(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	session, err := wire.OpenSession(t.Context(), conn)
	if err != nil {
		t.Fatal(err)
	}
	first, err := session.Receive(t.Context())
	if _, ok := first.(wire.Welcome); !ok {
		t.Errorf("after it all the agent begins with %T, %v", first, err)
	}
	_ = session.Close(wire.CodeGone, "the test is over")
	for _, place := range []string{n.data, n.run} {
		if strays, _ := filepath.Glob(filepath.Join(filepath.Dir(place), "*stray*")); strays != nil {
			t.Errorf("an id became a path: %q", strays)
		}
	}
}

// attack uses one proven connection for one mischief.
func (f *forger) attack(conn net.Conn, until time.Time) {
	defer func() { _ = conn.Close() }()
	path := wire.PathSession
	switch f.pick(6) {
	case 0:
		f.request(conn, http.MethodConnect, "agent:1", wire.HeaderTarget, f.ids[0]+"/web/8080")
		return
	case 1:
		f.request(conn, http.MethodConnect, "agent:1", wire.HeaderTarget,
			"../../x/y/"+strconv.Itoa(f.pick(1<<17)))
		return
	case 2:
		f.request(conn, http.MethodGet, "/v1/deployments/%2e%2e%2fx/services/y/logs?tail=-1", "X",
			strings.Repeat("x", 1<<f.pick(16)))
		return
	case 3:
		path = wire.PathRunLogs
	}
	s, err := dialRaw(conn, path)
	if err != nil {
		return
	}
	go func() {
		for {
			if _, _, err := s.read(); err != nil {
				return
			}
		}
	}()
	for n := f.pick(200); n > 0 && time.Now().Before(until); n-- {
		if s.write(opText, f.forge(f.commands)) != nil {
			return
		}
	}
	f.violate(s)
}

func (f *forger) request(conn net.Conn, method, target, header, value string) {
	_ = conn.SetDeadline(time.Now().Add(2 * time.Second))
	fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: agent\r\n%s: %s\r\n\r\n", method, target, header, value)
	_, _ = bufio.NewReader(io.LimitReader(conn, 1<<16)).ReadString('\n')
}

// connectStrangers flood a port with connections that can prove nothing, until the
// returned function is called.
func connectStrangers(address string) (stop func()) {
	openings := []string{"", "\x16\x03\x01", "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00",
		"\x16\x03\x03\x40\x00\x01" + strings.Repeat("\xff", 600), "SSH-2.0-x\r\n",
		"\x40\x00\x00\x00{"}
	var over atomic.Bool
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			from := &net.TCPAddr{IP: net.IPv4(127, 0, 9, byte(1+i))}
			var held []net.Conn
			for n := 0; !over.Load(); n++ {
				c, err := (&net.Dialer{LocalAddr: from, Timeout: time.Second}).Dial("tcp", address)
				if err != nil {
					continue
				}
				_, _ = io.WriteString(c, openings[(i+n)%len(openings)])
				if held = append(held, c); len(held) > 40 {
					_ = held[0].Close()
					held = held[1:]
				}
				time.Sleep(5 * time.Millisecond)
			}
			for _, c := range held {
				_ = c.Close()
			}
		})
	}
	return func() { over.Store(true); all.Wait() }
}
