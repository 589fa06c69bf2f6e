package main

import (
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"

	"github.com/miekg/dns"
)

// nameServer answers on loopback: every name is this machine, and TXT records are what
// signed updates made them.
type nameServer struct {
	KeyName, Key, HookPassword string

	mu      sync.Mutex
	texts   map[string][]string
	updates int
	refused int
}

func startNames(options []byte) (server, error) {
	n := &nameServer{texts: map[string][]string{}}
	if err := json.Unmarshal(options, n); err != nil {
		return server{}, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return server{}, err
	}
	packets, err := net.ListenPacket("udp", l.Addr().String())
	if err != nil {
		return server{}, err
	}
	keys := map[string]string{n.KeyName: n.Key}
	for _, s := range []*dns.Server{
		{Listener: l, Handler: n, TsigSecret: keys, MsgAcceptFunc: acceptAll},
		{PacketConn: packets, Handler: n, TsigSecret: keys},
	} {
		ready := make(chan struct{})
		s.NotifyStartedFunc = func() { close(ready) }
		go func() { _ = s.ActivateAndServe() }()
		<-ready
	}
	control := http.NewServeMux()
	control.HandleFunc("/count", n.count)
	control.HandleFunc("/webhook/", n.webhook)
	return server{ready: map[string]string{"Addr": l.Addr().String()}, control: control}, nil
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
		m.SetTsig(n.KeyName, dns.HmacSHA256, 300, int64(r.IsTsig().TimeSigned))
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

// count says how many records were not cleaned up, how many updates there were, and how
// many had a wrong key.
func (n *nameServer) count(w http.ResponseWriter, _ *http.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	texts := 0
	for _, all := range n.texts {
		texts += len(all)
	}
	writeAnswer(w, map[string]int{"Texts": texts, "Updates": n.updates, "Refused": n.refused}, nil)
}

// webhook is a program that updates the name server, for the user "nullops" with the
// password.
func (n *nameServer) webhook(w http.ResponseWriter, r *http.Request) {
	user, password, _ := r.BasicAuth()
	var asked struct{ FQDN, Value string }
	err := json.NewDecoder(r.Body).Decode(&asked)
	if user != "nullops" || password != n.HookPassword || r.Method != http.MethodPost {
		err = errors.New("this user may not change records")
	}
	if err != nil {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	head := dns.RR_Header{Name: asked.FQDN, Rrtype: dns.TypeTXT, Class: dns.ClassINET}
	if strings.HasSuffix(r.URL.Path, "/cleanup") {
		head.Class = dns.ClassNONE
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.update([]dns.RR{&dns.TXT{Hdr: head, Txt: []string{asked.Value}}})
}
