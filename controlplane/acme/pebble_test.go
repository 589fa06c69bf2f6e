package acme_test

import (
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/letsencrypt/pebble/v2/ca"
	"github.com/letsencrypt/pebble/v2/db"
	"github.com/letsencrypt/pebble/v2/va"
	"github.com/letsencrypt/pebble/v2/wfe"
	"github.com/miekg/dns"
)

// tsig is the key that the name server takes updates with.
const tsigName, tsigKey = "nullops.", "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0IQ=="

// nameServer is a name server on loopback: every name is this machine, and TXT
// records are what signed updates made them.
type nameServer struct {
	addr string

	mu      sync.Mutex
	texts   map[string][]string
	updates int
	refused int
}

func newNameServer(t *testing.T) *nameServer {
	t.Helper()
	n := &nameServer{texts: map[string][]string{}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n.addr = l.Addr().String()
	packets, err := net.ListenPacket("udp", n.addr)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*dns.Server{
		{Listener: l, Handler: n, TsigSecret: map[string]string{tsigName: tsigKey},
			MsgAcceptFunc: acceptAll},
		{PacketConn: packets, Handler: n, TsigSecret: map[string]string{tsigName: tsigKey}},
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
func (n *nameServer) ServeDNS(w dns.ResponseWriter, r *dns.Msg) {
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
		m.SetTsig(tsigName, dns.HmacSHA256, 300, int64(r.IsTsig().TimeSigned))
	default:
		n.answer(m, r.Question[0])
	}
	_ = w.WriteMsg(m)
}

func (n *nameServer) update(all []dns.RR) {
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

func (n *nameServer) answer(m *dns.Msg, q dns.Question) {
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

// left counts the records nobody cleaned up.
func (n *nameServer) left() (texts, updates, refused int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, all := range n.texts {
		texts += len(all)
	}
	return texts, n.updates, n.refused
}

// authority is Pebble, the test authority of Let's Encrypt, in this process.
type authority struct {
	directory string
	// tls is the root of the directory's own certificate, root that of those it
	// signs.
	tls, root string
}

func newAuthority(t *testing.T, names *nameServer, httpPort int) authority {
	t.Helper()
	quiet := log.New(io.Discard, "", 0)
	store := db.NewMemoryStore()
	signer := ca.New(quiet, store, "", "ecdsa", 0, 1, map[string]ca.Profile{
		"default": {Description: "three months", ValidityPeriod: 90 * 24 * 3600}})
	checker := va.New(quiet, httpPort, 0, false, names.addr, store)
	front := wfe.New(quiet, store, checker, signer, []string{"pebble.test"}, false, false, 0, 0)
	s := httptest.NewTLSServer(front.Handler())
	t.Cleanup(s.Close)
	return authority{directory: s.URL + wfe.DirectoryPath, root: string(signer.GetRootCert(0).PEM()),
		tls: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE",
			Bytes: s.Certificate().Raw}))}
}

// webhook is a program that tells the name server, for whoever has its password.
func (n *nameServer) webhook(w http.ResponseWriter, r *http.Request) {
	user, password, _ := r.BasicAuth()
	var asked struct{ FQDN, Value string }
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || user != "nullops" ||
		password != "hook-password" || r.Method != http.MethodPost {
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
