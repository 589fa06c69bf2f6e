package wire_test

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/agent/wire/wiretest"
)

// relay is a man in the middle: it ends TLS on both sides with certificates of
// its own choice and keeps the plaintext of both legs.
type relay struct {
	listener net.Listener
	agent    string
	toAgent  *tls.Config
	tasks    sync.WaitGroup

	mu sync.Mutex
	// up is what the control plane sent, down what the agent sent, raw what
	// crossed the control plane's leg as TLS records.
	up, down bytes.Buffer
	raw      bytes.Buffer
	legs     int
}

// newRelay stands between a control plane and the agent, showing front to the
// former and back to the latter.
func newRelay(t *testing.T, agent string, front, back *wire.Identity) *relay {
	t.Helper()
	r := &relay{agent: agent, listener: listenLoopback(t), toAgent: &tls.Config{
		InsecureSkipVerify: true, NextProtos: []string{"nullops-agent/1"},
		Certificates: []tls.Certificate{keyPair(t, back)},
	}}
	config := &tls.Config{
		Certificates: []tls.Certificate{keyPair(t, front)},
		NextProtos:   []string{"nullops-agent/1"}, ClientAuth: tls.RequestClientCert,
	}
	r.tasks.Go(func() {
		for {
			c, err := r.listener.Accept()
			if err != nil {
				return
			}
			r.tasks.Go(func() { r.serve(c, config) })
		}
	})
	t.Cleanup(r.close)
	return r
}

func (r *relay) close() {
	_ = r.listener.Close()
	r.tasks.Wait()
}

func (r *relay) serve(c net.Conn, config *tls.Config) {
	defer c.Close()
	control := tls.Server(&tapConn{Conn: c, relay: r}, config)
	if control.Handshake() != nil {
		return
	}
	agent, err := tls.Dial("tcp", r.agent, r.toAgent)
	if err != nil {
		return
	}
	defer agent.Close()
	r.mu.Lock()
	r.legs++
	r.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { r.copy(agent, control, &r.up) })
	both.Go(func() { r.copy(control, agent, &r.down) })
	both.Wait()
}

func (r *relay) copy(to, from *tls.Conn, record *bytes.Buffer) {
	defer to.Close()
	buffer := make([]byte, 4096)
	for {
		n, err := from.Read(buffer)
		r.mu.Lock()
		record.Write(buffer[:n])
		r.mu.Unlock()
		if _, writeErr := to.Write(buffer[:n]); err != nil || writeErr != nil {
			return
		}
	}
}

// copyCaptured returns everything seen on both legs.
func (r *relay) copyCaptured() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return bytes.Join([][]byte{r.up.Bytes(), r.down.Bytes(), r.raw.Bytes()}, nil)
}

// tapConn records the bytes of one leg as they are on the wire.
type tapConn struct {
	net.Conn
	relay *relay
}

func (c *tapConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.relay.mu.Lock()
	defer c.relay.mu.Unlock()
	c.relay.raw.Write(p[:n])
	return n, err
}

func keyPair(t *testing.T, id *wire.Identity) tls.Certificate {
	t.Helper()
	pair, err := tls.X509KeyPair(id.PEM(), id.PEM())
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

func listenLoopback(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// newAgent is a scripted agent on real TCP.
func newAgent(t *testing.T) *wiretest.Agent {
	t.Helper()
	return wiretest.NewAgent(t, wiretest.AgentConfig{Listener: listenLoopback(t)})
}

// spellSecret returns a secret in the forms in which it could hide in a capture.
func spellSecret(secret []byte) map[string][]byte {
	forms := map[string][]byte{
		"raw": secret,
		"hex": []byte(hex.EncodeToString(secret)),
		"HEX": []byte(strings.ToUpper(hex.EncodeToString(secret))),
	}
	// In base64 a byte's spelling depends on its offset: each of the three,
	// without the letters that neighbours could change.
	for offset := range 3 {
		padded := append(make([]byte, offset), secret...)
		for name, enc := range map[string]*base64.Encoding{
			"std": base64.RawStdEncoding, "url": base64.RawURLEncoding} {
			text := enc.EncodeToString(padded)
			from := (offset*8 + 5) / 6
			forms[fmt.Sprintf("base64 %s, offset %d", name, offset)] =
				[]byte(text[from : len(text)-2])
		}
	}
	return forms
}

// tokenSecrets is all that must never be seen: the token, its secret, H and K.
func tokenSecrets(t *testing.T, token wire.Token) map[string][]byte {
	t.Helper()
	text := token.Reveal()
	secret, err := base64.RawURLEncoding.DecodeString(text[17:60])
	if err != nil {
		t.Fatal(err)
	}
	hash := sha256.Sum256(append([]byte("nopa1"), secret...))
	return map[string][]byte{"token": []byte(text), "secret": secret,
		"secret's text": []byte(text[17:60]), "H": hash[:], "K": token.Key().Bytes()}
}

func findLeaks(captured []byte, secrets map[string][]byte) (found []string) {
	for name, secret := range secrets {
		for form, spelled := range spellSecret(secret) {
			if bytes.Contains(captured, spelled) {
				found = append(found, name+" as "+form)
			}
		}
	}
	return found
}

// T1: on first contact the control plane knows no thumbprint, and a relay may
// even hold the stolen client key. Without the token it gets nowhere.
//
// threat: T1
func TestDial_RelayOnFirstContactIsRefused(t *testing.T) {
	agent := newAgent(t)
	for name, back := range map[string]*wire.Identity{
		"relay with certificates of its own":         wiretest.NewIdentity(t),
		"relay with the control plane's stolen key":  agent.ControlPlane,
		"relay with the agent's key in both pockets": agent.Identity,
	} {
		t.Run(name, func(t *testing.T) {
			r := newRelay(t, agent.DialConfig().Address, wiretest.NewIdentity(t), back)
			config := agent.DialConfig()
			config.Address = r.listener.Addr().String()
			config.Thumbprint = wire.Thumbprint{} // enrolling
			conn, err := wire.Dial(t.Context(), config)
			if err == nil {
				_ = conn.Close()
				t.Fatal("the relay passed for the agent")
			}
			if back == agent.ControlPlane && !errors.Is(err, wire.ErrIntercepted) {
				t.Errorf("%v does not say that something terminates TLS", err)
			}
			r.close()
			if node, _ := agent.Memory.BoundNode(); node != "" {
				t.Error("the agent admitted a control plane")
			}
			if len(agent.Sessions) > 0 {
				t.Error("the agent accepted a session")
			}
			// promise: N-210
			if found := findLeaks(r.copyCaptured(), tokenSecrets(t, agent.Token)); found != nil {
				t.Errorf("on the wire: %v", found)
			}
		})
	}
}

// The relay test proves something only if the relay works, sees hello pass, and
// the search would find each secret in each spelling.
func TestRelay_SeesWhatPasses(t *testing.T) {
	agent := newAgent(t)
	r := newRelay(t, agent.DialConfig().Address, agent.Identity, agent.ControlPlane)
	config := agent.DialConfig()
	config.Address = r.listener.Addr().String()
	_, err := wire.Dial(t.Context(), config)
	if !errors.Is(err, wire.ErrIntercepted) {
		t.Fatalf("with the agent's own certificate stolen: %v", err)
	}
	r.close()
	if r.legs != 1 || !bytes.Contains(r.up.Bytes(), []byte(agent.Token.Kid)) ||
		!bytes.Contains(r.down.Bytes(), []byte(`"proof"`)) {
		t.Fatalf("the relay saw %d legs, up %q, down %q", r.legs, r.up.Bytes(), r.down.Bytes())
	}
	for name, secret := range tokenSecrets(t, agent.Token) {
		for form, spelled := range spellSecret(secret) {
			planted := append(append(r.copyCaptured(), spelled...), r.up.Bytes()...)
			if findLeaks(planted, map[string][]byte{name: secret}) == nil {
				t.Errorf("%s as %s would not be found", name, form)
			}
		}
	}
}

// N-206: the pin is checked before our certificate or a byte of ours leaves;
// then one more connection asks for the proof and sends none.
//
// threat: T5
func TestDial_SwappedCertificateIsRefusedBeforeAnyByte(t *testing.T) {
	agent := newAgent(t)
	first := &countingServer{listener: listenLoopback(t)}
	done := first.serve(t, wiretest.NewIdentity(t))
	config := agent.DialConfig()
	config.Address = first.listener.Addr().String()
	_, err := wire.Dial(t.Context(), config)
	var untrusted *wire.UntrustedError
	if !errors.As(err, &untrusted) || !errors.Is(err, wire.ErrUntrusted) {
		t.Fatalf("got %v", err)
	}
	_ = first.listener.Close()
	<-done
	if len(first.received) != 2 {
		t.Fatalf("%d connections instead of two", len(first.received))
	}
	pinned, examined := first.received[0], first.received[1]
	if pinned.handshake || len(pinned.data) > 0 { // promise: N-206
		t.Errorf("the pinned connection got through: %+v", pinned)
	}
	if untrusted.Want != agent.Identity.Thumbprint() || untrusted.Got != first.thumbprint ||
		untrusted.ProofValid || !strings.Contains(err.Error(), "INVALID") {
		t.Errorf("%v", err)
	}
	if !examined.handshake || bytes.Contains(examined.data, []byte("HTTP")) {
		t.Errorf("the examination sent %q", examined.data)
	}
}

// countingServer has a certificate nobody trusts and records what it is sent.
type countingServer struct {
	listener   net.Listener
	thumbprint wire.Thumbprint
	received   []received
}

type received struct {
	handshake bool
	data      []byte
}

func (s *countingServer) serve(t *testing.T, id *wire.Identity) <-chan struct{} {
	t.Helper()
	s.thumbprint = id.Thumbprint()
	config := &tls.Config{
		Certificates: []tls.Certificate{keyPair(t, id)},
		NextProtos:   []string{"nullops-agent/1"}, ClientAuth: tls.RequireAnyClientCert,
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := s.listener.Accept()
			if err != nil {
				return
			}
			var got received
			conn := tls.Server(c, config)
			got.handshake = conn.Handshake() == nil
			if got.handshake {
				got.data = make([]byte, 4096)
				n, _ := conn.Read(got.data)
				got.data = got.data[:n]
			} else {
				got.data, _ = io.ReadAll(conn)
			}
			_ = c.Close()
			s.received = append(s.received, got)
		}
	}()
	return done
}

// Design, the link: a new certificate that holds the token is shown as such,
// and still commands nothing.
//
// threat: T5
func TestDial_SwappedCertificateWithTheTokenIsShownAsValid(t *testing.T) {
	agent := newAgent(t)
	config := agent.DialConfig()
	config.Thumbprint = wiretest.NewIdentity(t).Thumbprint()
	_, err := wire.Dial(t.Context(), config)
	var untrusted *wire.UntrustedError
	if !errors.As(err, &untrusted) || !untrusted.ProofValid {
		t.Fatalf("got %v", err)
	}
	if untrusted.Got != agent.Identity.Thumbprint() || strings.Contains(err.Error(), "INVALID") {
		t.Errorf("%v", err)
	}
	if node, _ := agent.Memory.BoundNode(); node != "" {
		t.Error("the examination gave the agent our proof")
	}
}
