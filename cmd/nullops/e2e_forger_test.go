package main_test

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// forger makes messages: samples of the protocol with the ids of others in
// them, and now and then a broken one. The same seed makes the same messages.
type forger struct {
	// ids are a deployment, its run, its node and that node's token.
	ids               []string
	samples           map[string][]byte
	reports, commands []string
	sent, sessions    *atomic.Int64
	leaked            *atomic.Bool

	mu  sync.Mutex
	rng *rand.Rand
	seq int64
}

// Two samples that have their places.
const (
	welcome  = "welcome.report.json"
	logBatch = "log_batch.report.json"
)

// newForger reads the samples of every message there is, so that a new one is
// forged too. Nothing in them may lead to a real registry.
func newForger(t *testing.T, ids ...string) *forger {
	t.Helper()
	f := &forger{ids: ids, samples: map[string][]byte{}, sent: &atomic.Int64{},
		sessions: &atomic.Int64{}, leaked: &atomic.Bool{}}
	files, err := filepath.Glob("../../agent/wire/testdata/v1/*.json")
	if err != nil || len(files) < 10 {
		t.Fatalf("samples of the protocol: %v, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(file)
		f.samples[name] = bytes.ReplaceAll(text, []byte("registry.example:5000"), []byte("127.0.0.1:1"))
		switch {
		case name == welcome, name == logBatch: // elsewhere they end a session
		case strings.HasSuffix(name, ".report.json"):
			f.reports = append(f.reports, name)
		default:
			f.commands = append(f.commands, name)
		}
	}
	return f
}

// with is the same forger with dice of its own.
func (f *forger) with(seed uint64) *forger {
	return &forger{ids: f.ids, samples: f.samples, reports: f.reports, commands: f.commands,
		sent: f.sent, sessions: f.sessions, leaked: f.leaked, rng: rand.New(rand.NewPCG(seed, 7))}
}

func (f *forger) pick(n int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rng.IntN(n)
}

// forge makes one message out of the named samples.
func (f *forger) forge(names []string) []byte {
	var message any
	sample := f.samples[names[f.pick(len(names))]]
	if err := json.Unmarshal(sample, &message); err != nil {
		return sample
	}
	wild := f.pick(40) == 0
	body, err := json.Marshal(f.twist("", message, wild))
	if err != nil {
		return sample
	}
	f.sent.Add(1)
	return body
}

// twist puts what others own into every place that has a name for it, and, when
// wild, anything into any place.
func (f *forger) twist(key string, v any, wild bool) any {
	if wild && key != "type" && key != "payload" && f.pick(6) == 0 {
		return f.nonsense()
	}
	switch v := v.(type) {
	case map[string]any:
		// In order, or the dice would fall differently each time.
		for _, name := range slices.Sorted(maps.Keys(v)) {
			v[name] = f.twist(name, v[name], wild)
		}
		return v
	case []any:
		for i := range v {
			v[i] = f.twist(key, v[i], wild)
		}
		if wild && len(v) > 0 {
			// Lists in lists multiply: without a bound one message takes all memory.
			v = slices.Repeat(v, min(1+f.pick(200), 1+maxForged/countLeaves(v)))
		}
		return v
	default:
		return f.claim(key, v)
	}
}

// maxForged is how many values a repeated list may hold, those of its lists included.
const maxForged = 20_000

// countLeaves counts the values in v, and v itself.
func countLeaves(v any) int {
	n := 1
	switch v := v.(type) {
	case map[string]any:
		for _, each := range v {
			n += countLeaves(each)
		}
	case []any:
		for _, each := range v {
			n += countLeaves(each)
		}
	}
	return n
}

// claim is a value that belongs to another person.
func (f *forger) claim(key string, v any) any {
	phases := []string{"applying", "ready", "undoing", "failed", "removing", "removed", "stuck"}
	statuses := []string{"pending", "pulling", "running", "done", "failed", "undoing", "undone"}
	switch key {
	case "deployment":
		return f.ids[0]
	case "run":
		return f.ids[1]
	case "kid":
		return f.ids[3]
	case "step", "key":
		return "web"
	case "generation":
		return 1 + f.pick(3)
	case "phase":
		return phases[f.pick(len(phases))]
	case "status":
		return statuses[f.pick(len(statuses))]
	case "seq":
		f.mu.Lock()
		defer f.mu.Unlock()
		f.seq++
		return f.seq
	}
	return v
}

func (f *forger) nonsense() any {
	all := []any{nil, true, -1, 0, int64(1) << 62, 1e300, "", "../../stray-1", "\x00\u202e\x1b[2J",
		strings.Repeat("x", 1<<f.pick(18)), "'; DROP TABLE nodes; --", []any{}, map[string]any{},
		f.ids[f.pick(len(f.ids))], strings.Repeat("[", 500)}
	return all[f.pick(len(all))]
}

// violate ends a session by breaking a rule of the WebSocket below it.
func (f *forger) violate(s *socket) {
	_ = s.conn.SetDeadline(time.Now().Add(500 * time.Millisecond))
	switch f.pick(9) {
	case 0:
		_ = s.write(opText, []byte("hello"))
	case 1:
		_ = s.write(opBinary, make([]byte, 1<<12))
	case 2:
		_ = s.header(true, opText, 1<<30)
		_, _ = io.Copy(s.conn, io.LimitReader(zeros{}, 8<<20))
	case 3:
		for range 64 {
			if s.frame(false, opText, make([]byte, 64<<10)) != nil {
				return
			}
		}
	case 4:
		for range 5000 {
			if s.write(opPing, []byte("!")) != nil {
				return
			}
		}
	case 5:
		_ = s.write(opPing, make([]byte, 4000)) // control frames have 125 bytes
	case 6:
		_ = s.write(opClose, []byte{0x27, 0x0f, 0xff, 0xfe}) // code 9999, no UTF-8
	case 7:
		_, _ = s.conn.Write([]byte{0xff, 0xff, 0xff}) // reserved bits, cut short
	case 8:
		deep := strings.Repeat(`{"payload":`, 20000) + strings.Repeat("}", 20000)
		_ = s.write(opText, []byte(`{"type":"welcome","type":"event","payload":`+deep+"}"))
	}
	// Who does not hang up on that waits for more.
	_, _ = s.conn.Read(make([]byte, 1))
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// The WebSocket's kinds of frames, RFC 6455, 5.2.
const (
	opText   = 1
	opBinary = 2
	opClose  = 8
	opPing   = 9
)

// socket is a WebSocket without rules.
type socket struct {
	conn net.Conn
	in   *bufio.Reader
	// client frames are masked, with zeros here.
	client bool
	mu     sync.Mutex
}

// serveRaw takes a connection over from the HTTP server.
func serveRaw(w http.ResponseWriter, r *http.Request) (*socket, error) {
	key := r.Header.Get("Sec-WebSocket-Key")
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, err
	}
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	_, err = fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"+
		"Connection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n",
		base64.StdEncoding.EncodeToString(sum[:]))
	return &socket{conn: conn, in: rw.Reader}, err
}

// dialRaw asks for a WebSocket on a connection.
func dialRaw(conn net.Conn, path string) (*socket, error) {
	_, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: agent\r\nUpgrade: websocket\r\n"+
		"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"+
		"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n", path)
	if err != nil {
		return nil, err
	}
	s := &socket{conn: conn, in: bufio.NewReader(conn), client: true}
	answer, err := http.ReadResponse(s.in, nil)
	if err == nil && answer.StatusCode != http.StatusSwitchingProtocols {
		err = errors.New(answer.Status)
	}
	return s, err
}

func (s *socket) write(op byte, data []byte) error { return s.frame(true, op, data) }

func (s *socket) frame(final bool, op byte, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.header(final, op, uint64(len(data))); err != nil {
		return err
	}
	_, err := s.conn.Write(data)
	return err
}

func (s *socket) header(final bool, op byte, n uint64) error {
	head := []byte{op, 127}
	if final {
		head[0] |= 0x80
	}
	head = binary.BigEndian.AppendUint64(head, n)
	switch {
	case n <= 125:
		head = []byte{head[0], byte(n)}
	case n <= 0xffff:
		head = binary.BigEndian.AppendUint16([]byte{head[0], 126}, uint16(n))
	}
	if s.client {
		head[1] |= 0x80
		head = append(head, 0, 0, 0, 0)
	}
	_, err := s.conn.Write(head)
	return err
}

// read returns one frame.
func (s *socket) read() (op byte, data []byte, err error) {
	head := make([]byte, 2)
	if _, err := io.ReadFull(s.in, head); err != nil {
		return 0, nil, err
	}
	n := uint64(head[1] & 0x7f)
	for bits, size := range map[uint64]int{126: 2, 127: 8} {
		if n != bits {
			continue
		}
		long := make([]byte, 8)
		if _, err := io.ReadFull(s.in, long[8-size:]); err != nil {
			return 0, nil, err
		}
		n = binary.BigEndian.Uint64(long)
		break
	}
	var mask [4]byte
	if head[1]&0x80 != 0 {
		if _, err := io.ReadFull(s.in, mask[:]); err != nil {
			return 0, nil, err
		}
	}
	data = make([]byte, min(n, 16<<20))
	if _, err := io.ReadFull(s.in, data); err != nil {
		return 0, nil, err
	}
	for i := range data {
		data[i] ^= mask[i%4]
	}
	return head[0] & 0x0f, data, nil
}
