// Package acmetest has what orders of certificates need around them: Pebble, the
// test authority of Let's Encrypt, and a name server, both in the test's process.
package acmetest

import (
	"encoding/json"
	"encoding/pem"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/letsencrypt/pebble/v2/ca"
	"github.com/letsencrypt/pebble/v2/db"
	"github.com/letsencrypt/pebble/v2/va"
	"github.com/letsencrypt/pebble/v2/wfe"
	"github.com/miekg/dns"
)

// Key is what the name server takes updates with.
const Key = "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0IQ=="

// KeyName is the key's name.
const KeyName = "nullops."

// HookPassword is what the webhook asks for.
const HookPassword = "hook-password"

// NameServer is a name server on loopback: every name is this machine, and TXT
// records are what signed updates made them.
type NameServer struct {
	// Addr is its host:port.
	Addr string

	mu      sync.Mutex
	texts   map[string][]string
	updates int
	refused int
}

// NewNameServer starts one for the length of a test.
func NewNameServer(t *testing.T) *NameServer {
	t.Helper()
	n := &NameServer{texts: map[string][]string{}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n.Addr = l.Addr().String()
	packets, err := net.ListenPacket("udp", n.Addr)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*dns.Server{
		{Listener: l, Handler: n, TsigSecret: map[string]string{KeyName: Key},
			MsgAcceptFunc: acceptAll},
		{PacketConn: packets, Handler: n, TsigSecret: map[string]string{KeyName: Key}},
	} {
		ready := make(chan struct{})
		s.NotifyStartedFunc = func() { close(ready) }
		go func() { _ = s.ActivateAndServe() }()
		<-ready
		t.Cleanup(func() { _ = s.Shutdown() })
	}
	return n
}

// acceptAll lets updates in, which the library's default does not.
func acceptAll(dns.Header) dns.MsgAcceptAction { return dns.MsgAccept }

// ServeDNS implements dns.Handler.
func (n *NameServer) ServeDNS(w dns.ResponseWriter, r *dns.Msg) {
	m := new(dns.Msg)
	m.SetReply(r)
	m.Authoritative = true
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case r.Opcode == dns.OpcodeUpdate && (r.IsTsig() == nil || w.TsigStatus() != nil):
		n.refused++
		m.Rcode = dns.RcodeRefused
	case r.Opcode == dns.OpcodeUpdate:
		n.update(r.Ns)
		m.SetTsig(KeyName, dns.HmacSHA256, 300, int64(r.IsTsig().TimeSigned))
	default:
		n.answer(m, r.Question[0])
	}
	_ = w.WriteMsg(m)
}

func (n *NameServer) update(all []dns.RR) {
	n.updates++
	for _, rr := range all {
		txt, ok := rr.(*dns.TXT)
		if !ok {
			continue
		}
		name, value := strings.ToLower(txt.Hdr.Name), strings.Join(txt.Txt, "")
		if txt.Hdr.Class == dns.ClassINET {
			n.texts[name] = append(n.texts[name], value)
			continue
		}
		var kept []string
		for _, old := range n.texts[name] {
			if old != value {
				kept = append(kept, old)
			}
		}
		n.texts[name] = kept
	}
}

func (n *NameServer) answer(m *dns.Msg, q dns.Question) {
	head := dns.RR_Header{Name: q.Name, Rrtype: q.Qtype, Class: dns.ClassINET, Ttl: 1}
	switch q.Qtype {
	case dns.TypeA:
		m.Answer = append(m.Answer, &dns.A{Hdr: head, A: net.IPv4(127, 0, 0, 1)})
	case dns.TypeTXT:
		for _, text := range n.texts[strings.ToLower(q.Name)] {
			m.Answer = append(m.Answer, &dns.TXT{Hdr: head, Txt: []string{text}})
		}
	case dns.TypeSOA:
		if q.Name == "acme.test." {
			m.Answer = append(m.Answer, &dns.SOA{Hdr: head, Ns: "ns.acme.test.",
				Mbox: "ops.acme.test.", Serial: 1, Refresh: 1, Retry: 1, Expire: 1, Minttl: 1})
		}
	}
}

// CountLeftovers counts the records that were not cleaned up, the updates, and those with a wrong
// key.
func (n *NameServer) CountLeftovers() (texts, updates, refused int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, all := range n.texts {
		texts += len(all)
	}
	return texts, n.updates, n.refused
}

// Authority is Pebble, in this process.
type Authority struct {
	Directory string
	// TLS is the root of the directory's own certificate, Root that of those it
	// signs; both in PEM.
	TLS, Root string
	// Busy makes it answer 503 to all that it is asked.
	Busy atomic.Bool
}

// Customer is an external account, for authorities that require one (EAB).
const Customer = "customer-1"

// CustomerKey is the secret that proves the customer.
const CustomerKey = "Y3VzdG9tZXIta2V5LWN1c3RvbWVyLWtleS0_Pz8-Pj4"

// NewAuthority starts one for the length of a test. It asks hosts at httpPort.
func NewAuthority(t *testing.T, names *NameServer, httpPort int) *Authority {
	t.Helper()
	return newAuthority(t, names, httpPort, false)
}

// NewCustomersAuthority is NewAuthority with one that makes accounts for
// customers only.
func NewCustomersAuthority(t *testing.T, names *NameServer, httpPort int) *Authority {
	t.Helper()
	return newAuthority(t, names, httpPort, true)
}

func newAuthority(
	t *testing.T, names *NameServer, httpPort int, customersOnly bool,
) *Authority {
	t.Helper()
	// Pebble would wait up to five seconds ahead of each check.
	if err := os.Setenv("PEBBLE_VA_NOSLEEP", "1"); err != nil {
		t.Fatal(err)
	}
	quiet := slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	store := db.NewMemoryStore()
	if err := store.AddExternalAccountKeyByID(Customer, CustomerKey); err != nil {
		t.Fatal(err)
	}
	signer := ca.New(quiet, store, "", "ecdsa", 0, 1, map[string]ca.Profile{
		"default": {Description: "three months", ValidityPeriod: 90 * 24 * 3600}})
	checker := va.New(quiet, httpPort, 0, false, names.Addr, store)
	front := wfe.New(quiet, store, checker, signer, []string{"pebble.test"}, false,
		customersOnly, 0, 0)
	a := &Authority{Root: string(signer.GetRootCert(0).PEM())}
	pebble := front.Handler()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a.Busy.Load() {
			http.Error(w, "busy", http.StatusServiceUnavailable)
			return
		}
		pebble.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	a.Directory = s.URL + wfe.DirectoryPath
	a.TLS = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE",
		Bytes: s.Certificate().Raw}))
	return a
}

// Webhook is a program that tells the name server, for the user "nullops" with
// HookPassword.
func (n *NameServer) Webhook(w http.ResponseWriter, r *http.Request) {
	user, password, _ := r.BasicAuth()
	var asked struct{ FQDN, Value string }
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || user != "nullops" ||
		password != HookPassword || r.Method != http.MethodPost {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	head := dns.RR_Header{Name: asked.FQDN, Rrtype: dns.TypeTXT, Class: dns.ClassINET}
	if r.URL.Path == "/cleanup" {
		head.Class = dns.ClassNONE
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.update([]dns.RR{&dns.TXT{Hdr: head, Txt: []string{asked.Value}}})
}
