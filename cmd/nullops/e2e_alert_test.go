package main_test

import (
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/controlplane/notify"
)

// alarm receives webhooks. It is not on loopback, where webhooks may not lead.
type alarm struct {
	url    string
	secret controlplane.Plain
	mu     sync.Mutex
	got    []called
}

type called struct {
	header http.Header
	body   string
}

// watchAlarms registers a receiver for one event.
func (p *product) watchAlarms(t *testing.T, event string) *alarm {
	t.Helper()
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	a := &alarm{url: "http://" + machineAddress(t) + ":" + portOf(l.Addr().String())}
	server := &http.Server{Handler: a, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	var made apiclient.WebhookSaved
	p.admin.put(t, "/webhooks/alarm", object{"kind": "json", "url": a.url + "/hook",
		"events": []string{event}}, &made)
	a.secret = controlplane.NewPlain(textOf(made.Secret))
	return a
}

// ServeHTTP takes whatever comes.
func (a *alarm) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.got = append(a.got, called{header: r.Header.Clone(), body: string(body)})
}

func (a *alarm) calls() []called {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.got
}

// rings waits for the first call, which has to be about the node and signed.
func (a *alarm) rings(t *testing.T, event, node string) {
	t.Helper()
	eventually(t, "the webhook is told of "+event, func() string {
		if len(a.calls()) == 0 {
			return "nothing came"
		}
		return ""
	})
	first := a.calls()[0]
	signed := notify.Sign(a.secret, first.header.Get("X-Nullops-Timestamp"), first.body)
	// promise: N-326
	if !strings.Contains(first.body, `"event":"`+event+`"`) ||
		!strings.Contains(first.body, `"name":"`+node+`"`) ||
		first.header.Get("X-Nullops-Signature") != signed {
		t.Errorf("the webhook is told %s, signed %s", first.body,
			first.header.Get("X-Nullops-Signature"))
	}
}
