package main_test

import (
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/controlplane/notify"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
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

// watchAlarms registers a receiver for some events.
func (p *product) watchAlarms(t *testing.T, events ...string) *alarm {
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
		"events": events}, &made)
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

// find returns the first call about an event that names its cause.
func (a *alarm) find(event, cause string) (c called, found bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.IndexFunc(a.got, func(c called) bool {
		return strings.Contains(c.body, `"event":"`+event+`"`) && strings.Contains(c.body, cause)
	})
	if i < 0 {
		return called{}, false
	}
	return a.got[i], true
}

// rings waits for the first call about an event that names its cause, which has to be signed.
// Until then it does again what makes the event come soon.
func (a *alarm) rings(t *testing.T, event, cause string, hurry func()) {
	t.Helper()
	var first called
	eventually(t, "the webhook is told of "+event+": "+cause, func() string {
		hurry()
		var found bool
		if first, found = a.find(event, cause); !found {
			return "nothing came"
		}
		return ""
	})
	signed := notify.Sign(a.secret, first.header.Get("X-Nullops-Timestamp"), first.body)
	// promise: N-326
	if first.header.Get("X-Nullops-Signature") != signed {
		t.Errorf("the webhook is told %s, signed %s", first.body,
			first.header.Get("X-Nullops-Signature"))
	}
}

// changedAudit edits the audit log behind the control plane's back. Its own job finds that, and
// the webhook is told. The job is made due at once: nobody waits a minute for its next try.
func (p *product) changedAudit(t *testing.T, bell *alarm) {
	t.Helper()
	p.changeAudit(t, "eve")
	bell.rings(t, "controlplane.failing", "the audit was tampered with", func() {
		pgtest.Exec(t, p.database, "UPDATE jobs SET next_at = now() WHERE name = 'verify_audit'")
	})
}
