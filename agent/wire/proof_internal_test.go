package wire

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"testing"
)

// lonely is a Verifier with one key and no memory.
type lonely struct {
	kid string
	key Key
}

func (l lonely) Trusts(SPKI) bool { return true }

func (l lonely) Key(kid string, _ SPKI) (Key, bool, error) {
	if kid != l.kid {
		return Key{}, false, ErrUnknownKid
	}
	return l.key, false, nil
}

func (l lonely) Admit(context.Context, Peer) error { return nil }

// exchange is one run of the proof with a hand on every frame between the
// ends. tamper gets the step (1 hello, 2 answer, 3 confirm, 4 verdict) and the
// body, and returns what arrives instead.
type exchange struct {
	key, agentKey   Key
	hello           hello
	control, agent  binding
	tamper          func(step int, body []byte) []byte
	admitted        bool
	controlErr, err error
}

func newExchange() *exchange {
	token := NewToken(SPKI{1})
	b := binding{exporter: [32]byte{2}, leaf: Thumbprint{3}, spki: SPKI{1}}
	return &exchange{key: token.Key(), agentKey: token.Key(), control: b, agent: b,
		hello: hello{Kid: token.Kid, NodeID: "node-1", Nonce: newNonce(), Epoch: 7,
			Protocol: Protocol, Build: "1.0.0"},
		tamper: func(_ int, body []byte) []byte { return body }}
}

func (e *exchange) run() {
	control, left := net.Pipe()
	right, agent := net.Pipe()
	var tasks sync.WaitGroup
	tasks.Go(func() { e.pass(left, right, 1) })
	tasks.Go(func() { e.pass(right, left, 2) })
	tasks.Go(func() {
		defer agent.Close()
		p := prover{build: "1.0.0", verifier: lonely{kid: e.hello.Kid, key: e.agentKey}}
		_, e.err = p.answerProof(agent, e.agent, func(Peer) error {
			e.admitted = true
			return nil
		})
	})
	a, err := requestProof(control, e.control, e.key, e.hello)
	if err == nil {
		err = sendProof(control, e.control, e.key, e.hello, a)
	}
	e.controlErr = err
	control.Close()
	tasks.Wait()
}

func (e *exchange) pass(from, to net.Conn, step int) {
	defer from.Close()
	defer to.Close()
	for ; ; step += 2 {
		var head [4]byte
		if _, err := io.ReadFull(from, head[:]); err != nil {
			return
		}
		body := make([]byte, binary.BigEndian.Uint32(head[:]))
		if _, err := io.ReadFull(from, body); err != nil {
			return
		}
		body = e.tamper(step, body)
		frame := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
		if _, err := to.Write(append(frame, body...)); err != nil {
			return
		}
	}
}

func TestProof_AcceptsAnUntouchedExchange(t *testing.T) {
	e := newExchange()
	e.run()
	if e.err != nil || e.controlErr != nil || !e.admitted {
		t.Fatalf("agent: %v, control plane: %v, admitted %v", e.err, e.controlErr, e.admitted)
	}
}

// T2: whatever is changed in whichever frame, the agent never admits and the
// control plane never believes.
//
// threat: T2
func TestProof_RefusesAThousandMutations(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 1000 {
		e := newExchange()
		step := 1 + i%3
		what := "nothing"
		e.tamper = func(at int, body []byte) []byte {
			if at != step {
				return body
			}
			if i%2 == 0 {
				return flipBit(random, body, &what)
			}
			return changeField(random, body, &what)
		}
		e.run()
		// promise: N-210
		if e.admitted || e.controlErr == nil || e.err == nil {
			t.Fatalf("mutation %d of step %d (%s) passed: agent %v, control plane %v",
				i, step, what, e.err, e.controlErr)
		}
	}
}

func flipBit(random *rand.Rand, body []byte, what *string) []byte {
	body = slices.Clone(body)
	at, bit := random.IntN(len(body)), random.IntN(8)
	body[at] ^= 1 << bit
	*what = fmt.Sprintf("bit %d of byte %d: %s", bit, at, body)
	return body
}

func changeField(random *rand.Rand, body []byte, what *string) []byte {
	var fields map[string]any
	if err := json.Unmarshal(body, &fields); err != nil {
		panic(err)
	}
	names := slices.Sorted(maps.Keys(fields))
	name := names[random.IntN(len(names))]
	switch value := fields[name].(type) {
	case string:
		fields[name] = changeText(random, value)
	case float64:
		fields[name] = value + float64(1+random.IntN(9))
	default:
		panic(fmt.Sprintf("field %s is a %T", name, value))
	}
	changed := mustCanonical(fields, body)
	*what = fmt.Sprintf("field %s: %s", name, changed)
	return changed
}

// changeText swaps two different letters for base64's sake, or lengthens.
func changeText(random *rand.Rand, text string) string {
	letters := []byte(text)
	at := random.IntN(max(1, len(letters)-2))
	old := letters[at]
	for _, c := range []byte("abcdefgh0123") {
		if c != old && random.IntN(3) == 0 {
			letters[at] = c
			return string(letters)
		}
	}
	return text + "A"
}

// mustCanonical spells fields in the order of the frame they came from, so that
// only the value differs and not the form.
func mustCanonical(fields map[string]any, like []byte) []byte {
	text, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	for _, frame := range []any{&hello{}, &answer{}, &confirm{}} {
		if decodeFrame(like, frame) != nil {
			continue
		}
		if json.Unmarshal(text, frame) == nil {
			if text, err = json.Marshal(frame); err != nil {
				panic(err)
			}
		}
		return text
	}
	return text
}

func TestProof_RefusesAnotherSession(t *testing.T) {
	for name, change := range map[string]func(*binding){
		"other TLS session":       func(b *binding) { b.exporter[31]++ },
		"other agent certificate": func(b *binding) { b.leaf[0]++ },
		"other client key":        func(b *binding) { b.spki[0]++ },
	} {
		t.Run(name, func(t *testing.T) {
			e := newExchange()
			change(&e.control)
			e.run()
			if e.admitted || !errors.Is(e.controlErr, ErrIntercepted) || e.err == nil {
				t.Fatalf("agent %v, control plane %v", e.err, e.controlErr)
			}
		})
	}
}

// A verifier that finds no key, yet reports no error, must not make thirty-two
// zero bytes a key that everybody knows.
func TestProof_RefusesTheZeroKey(t *testing.T) {
	e := newExchange()
	e.key, e.agentKey = Key{set: true}, Key{}
	e.run()
	if e.admitted || e.err == nil || e.controlErr == nil {
		t.Fatalf("agent %v, control plane %v", e.err, e.controlErr)
	}
}

// N-217: the agent decides for itself, and only about a proven peer.
func TestProof_AgentRefusesAnotherRelease(t *testing.T) {
	e := newExchange()
	e.hello.Build = "1.0.1"
	e.run()
	var refused *RefusedError
	if !errors.Is(e.err, ErrIncompatible) || !e.admitted ||
		!errors.As(e.controlErr, &refused) || refused.Code != CodeIncompatible {
		t.Fatalf("agent %v, control plane %v", e.err, e.controlErr)
	}
}

// T3: an agent's own proof, sent back to it, is not the control plane's.
//
// threat: T3
func TestProof_RefusesReflection(t *testing.T) {
	e := newExchange()
	var theirs []byte
	e.tamper = func(step int, body []byte) []byte {
		switch step {
		case 2:
			var a answer
			if err := decodeFrame(body, &a); err != nil {
				panic(err)
			}
			theirs = a.Proof
		case 3:
			body, _ = json.Marshal(confirm{Proof: theirs})
		}
		return body
	}
	e.run()
	if e.admitted || e.err == nil {
		t.Fatalf("the agent took its own proof for the control plane's: %v", e.err)
	}
}

// T2: frames recorded from a good exchange are worth nothing in the next one,
// even on a session with the same exporter.
//
// threat: T2
func TestProof_RefusesReplay(t *testing.T) {
	first := newExchange()
	recorded := map[int][]byte{}
	first.tamper = func(step int, body []byte) []byte {
		recorded[step] = slices.Clone(body)
		return body
	}
	first.run()
	if !first.admitted {
		t.Fatal(first.err)
	}
	for name, steps := range map[string][]int{
		"control plane's frames": {1, 3}, "agent's answer": {2}, "only the confirm": {3},
	} {
		t.Run(name, func(t *testing.T) {
			again := newExchange()
			again.key, again.agentKey, again.hello.Kid = first.key, first.key, first.hello.Kid
			again.tamper = func(step int, body []byte) []byte {
				if slices.Contains(steps, step) {
					return recorded[step]
				}
				return body
			}
			again.run()
			if again.admitted || again.err == nil || again.controlErr == nil {
				t.Fatalf("agent %v, control plane %v", again.err, again.controlErr)
			}
		})
	}
}

// Before the proof every refusal is the same bytes, whatever was wrong.
func TestProof_RefusesWithOneText(t *testing.T) {
	refusals := map[string]string{}
	for name, tamper := range map[string]func(step int, body []byte) []byte{
		"garbage": func(step int, body []byte) []byte {
			if step == 1 {
				return []byte("GET / HTTP/1.1")
			}
			return body
		},
		"unknown kid": func(step int, body []byte) []byte {
			if step == 1 {
				var h hello
				_ = decodeFrame(body, &h)
				h.Kid = "0000000000"
				body, _ = json.Marshal(h)
			}
			return body
		},
	} {
		e := newExchange()
		e.tamper = func(step int, body []byte) []byte {
			body = tamper(step, body)
			if step == 2 {
				refusals[string(body)] = name
			}
			return body
		}
		e.run()
		var refused *RefusedError
		if !errors.As(e.controlErr, &refused) || refused.Code != CodeRefused {
			t.Errorf("%s: control plane got %v", name, e.controlErr)
		}
	}
	if len(refusals) != 1 {
		t.Errorf("refusals differ: %q", refusals)
	}
}

// A right proof over a short nonce, or with a key that was never set, is none.
func TestRequestProof_WantsANonceAndAKey(t *testing.T) {
	whole := newExchange()
	for name, c := range map[string]struct {
		key   Key
		nonce []byte
		want  error
	}{
		"whole":       {whole.key, newNonce(), nil},
		"short nonce": {whole.key, newNonce()[1:], ErrIntercepted},
		"no key":      {Key{}, newNonce(), ErrIntercepted},
	} {
		control, agent := net.Pipe()
		go func() {
			var h hello
			_ = readFrame(agent, &h)
			a := answer{Nonce: c.nonce, Protocol: Protocol, Build: "1.0.0"}
			a.Proof = whole.agent.proofMAC(c.key, roleAgent, h, a)
			_ = writeFrame(agent, a)
		}()
		if _, err := requestProof(control, whole.control, c.key, whole.hello); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
		_, _ = control.Close(), agent.Close()
	}
}

func FuzzReadFrame(f *testing.F) {
	for _, v := range []any{
		hello{Kid: "0123456789", NodeID: "n", Nonce: newNonce(), Epoch: 1, Protocol: 1,
			Build: "dev"},
		answer{Nonce: newNonce(), Protocol: 1, Build: "dev", Proof: newNonce()},
		answer{Refusal: constantRefusal()},
		confirm{Proof: newNonce()},
		verdict{Admitted: true},
	} {
		body, err := json.Marshal(v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...))
	}
	f.Add([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
	f.Add([]byte{0x40, 0, 0, 0, '{'})
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, v := range []any{&hello{}, &answer{}, &confirm{}, &verdict{}} {
			r := &meter{data: data}
			if err := readFrame(r, v); err != nil {
				continue
			}
			again, err := json.Marshal(v)
			if err != nil || string(again) != string(data[4:r.read]) {
				t.Fatalf("%q was taken for %q: %v", data[4:r.read], again, err)
			}
		}
	})
}

// meter is a reader that counts, to check that nothing after a frame is consumed.
type meter struct {
	data []byte
	read int
}

func (m *meter) Read(p []byte) (int, error) {
	if m.read == len(m.data) {
		return 0, io.EOF
	}
	n := copy(p, m.data[m.read:])
	m.read += n
	if m.read > 4+maxFrame {
		panic("read more than a frame can hold")
	}
	return n, nil
}

// Who names a token that does not exist is answered with a proof by a key of the moment: neither
// the time nor the answer says that there is none.
func TestProof_UnknownTokensAreAnsweredWithARandomKey(t *testing.T) {
	e := newExchange()
	p := prover{build: "1.0.0", verifier: lonely{kid: "another", key: e.agentKey}}
	seen := map[[keyLen]byte]bool{{}: true}
	for range 3 {
		var sent bytes.Buffer
		if err := writeFrame(&sent, e.hello); err != nil {
			t.Fatal(err)
		}
		q, err := p.readHello(&sent, e.agent)
		if !errors.Is(err, errUnproven) || !errors.Is(err, ErrUnknownKid) {
			t.Errorf("an unknown token: %v", err)
		}
		if !q.key.set || seen[q.key.bytes] || len(q.answer.Proof) == 0 {
			t.Error("the answer is made with no key of its own")
		}
		seen[q.key.bytes] = true
	}
}
