package api_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/controlplane/catalog"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/controlplane/notify"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
)

// hookSecret is in the address of a chat's hook, and must never come back.
const hookSecret = "canary-hook-51ce9b"

// startNotifier runs a notifier until the test ends. Receivers of tests are on this machine.
func (w *world) startNotifier(log *slog.Logger) *notify.Notifier {
	n := notify.New(notify.Config{Store: w.store, Vault: w.keys, URL: "http://nullops.test",
		Off: w.off, Mail: w.mail, Log: log,
		Addresses: w.lifecycle.Addresses,
		Pause:     func(int) time.Duration { return 0 }})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = n.Run(ctx, nil) }()
	w.t.Cleanup(func() { cancel(); <-done })
	return n
}

// makeWebhook makes a webhook, through the door.
func (w *world) makeWebhook(name, address string, more ...object) answer {
	w.t.Helper()
	body := object{"kind": "json", "url": address, "events": []string{
		"deployment.created", "deployment.ready", "deployment.failed"}}
	for _, m := range more {
		maps.Copy(body, m)
	}
	a := w.call("PUT", "/api/v1/webhooks/"+name, w.token("root"), body)
	if a.status != http.StatusOK {
		w.t.Fatalf("make webhook: %d %s", a.status, a.body)
	}
	return a
}

// receiver remembers what it was sent, and refuses at first if it is to.
type receiver struct {
	*httptest.Server
	mu      sync.Mutex
	got     []http.Header
	bodies  []string
	refuses int
}

func (r *receiver) wasReached() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.got) > 0
}

func startReceiver(t *testing.T, refuses int) *receiver {
	t.Helper()
	r := &receiver{refuses: refuses}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.got, r.bodies = append(r.got, req.Header), append(r.bodies, string(body))
		if r.refuses > 0 {
			r.refuses--
			w.WriteHeader(http.StatusBadGateway)
		}
	}))
	t.Cleanup(r.Close)
	return r
}

// wait returns what came, once there is so much of it.
func (r *receiver) wait(t *testing.T, n int) ([]http.Header, []string) {
	t.Helper()
	for range 600 {
		r.mu.Lock()
		got, bodies := r.got, r.bodies
		r.mu.Unlock()
		if len(got) >= n {
			return got, bodies
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("%d messages did not come", n)
	return nil, nil
}

func onThisMachine(w *world) { w.off = controlplane.OffLimits{Loopback: true} }

// What happens to a deployment reaches the webhook, signed, tried again until
// it is taken, and is in the log, from where it is sent once more.
func TestWebhook_Story(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, onThisMachine)
	w.shop()
	r := startReceiver(t, 1)
	key := w.makeWebhook("ci", r.URL+"/"+hookSecret, object{"project": "shop"}).field("secret")
	w.makeWebhook("elsewhere", r.URL, object{"project": "other"})
	d := w.deploy("first")
	got, bodies := r.wait(t, 2)
	for i, h := range got[:2] {
		signed := notify.Sign(controlplane.NewPlain(key), h.Get("X-Nullops-Timestamp"), bodies[i])
		if h.Get("X-Nullops-Signature") != signed || key == "" {
			t.Errorf("signature %q, want %q", h.Get("X-Nullops-Signature"), signed)
		}
	}
	if bodies[0] != bodies[1] || got[0].Get("X-Nullops-Delivery") != got[1].Get("X-Nullops-Delivery") {
		t.Error("the second try is another message")
	}
	if !strings.Contains(bodies[0], `"event":"deployment.created"`) ||
		!strings.Contains(bodies[0], `"id":"`+string(d.ID)+`"`) {
		t.Errorf("the message is %s", bodies[0])
	}
	w.report(d, lifecycle.Report{Status: controlplane.Applying})
	w.report(d, lifecycle.Report{Status: controlplane.Ready})
	_, bodies = r.wait(t, 3)
	if !strings.Contains(bodies[2], `"event":"deployment.ready"`) {
		t.Errorf("the message is %s", bodies[2])
	}
	w.redelivers(t, r)
	if containsValue(w.seen.String(), hookSecret) || containsValue(w.log.String(), hookSecret) {
		t.Error("the address was shown or logged")
	}
}

// An agent that disconnects is reported to the webhook that subscribed to that event.
func TestWebhook_NodeGoesOffline(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, onThisMachine)
	w.shop()
	r := startReceiver(t, 0)
	w.makeWebhook("ops", r.URL, object{"events": []string{"node.offline"}})
	// As its session says when it ends, when the next one begins, and ends.
	for _, to := range []controlplane.NodeStatus{controlplane.NodeOffline,
		controlplane.NodeOnline, controlplane.NodeOffline} {
		w.expectSaved(nil, w.store.InTx(t.Context(), func(tx *postgres.Tx) error {
			_, err := tx.Nodes().Move(t.Context(), w.node, to, "")
			return err
		}))
	}
	_, bodies := r.wait(t, 2)
	for _, body := range bodies[:2] {
		if !strings.Contains(body, `"event":"node.offline"`) ||
			!strings.Contains(body, `"name":"node-1"`) {
			t.Errorf("the message is %s", body)
		}
	}
}

func (w *world) redelivers(t *testing.T, r *receiver) {
	t.Helper()
	token := w.token("root")
	var page api.DeliveryList
	for range 600 {
		page = decodeEvent[api.DeliveryList](t, event{data: string(
			w.call("GET", "/api/v1/webhooks/ci/deliveries", token, nil).body)})
		if len(page.Items) == 2 && page.Items[0].Status == "sent" && page.Items[1].Status == "sent" {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if len(page.Items) != 2 || page.Items[1].Attempts != 2 || page.Items[0].Attempts != 1 {
		t.Fatalf("the log is %+v", page.Items)
	}
	path := "/api/v1/webhooks/ci/deliveries/" + page.Items[1].Id + "/redeliver"
	again := w.call("POST", path, token, nil)
	_, bodies := r.wait(t, 4)
	if again.field("status") != "sent" || bodies[3] != bodies[0] {
		t.Errorf("redelivered: %s", again.body)
	}
	other := strings.Replace(path, "/ci/", "/elsewhere/", 1)
	if a := w.call("POST", other, token, nil); a.status != http.StatusNotFound {
		t.Errorf("another webhook's delivery: %d", a.status)
	}
}

// A webhook leads neither to this machine nor where it is redirected to, and testing it reports
// that.
func TestWebhook_OffLimits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.people()
	r := startReceiver(t, 0)
	w.makeWebhook("hook", r.URL)
	a := w.call("POST", "/api/v1/webhooks/hook/test", w.token("root"), nil)
	if a.field("status") != "failed" || !strings.Contains(a.field("error"), "off limits") {
		t.Errorf("test of a loopback address: %s", a.body)
	}
	if r.wasReached() {
		t.Error("it was reached")
	}
	local := newWorldWith(t, onThisMachine)
	local.people()
	away := httptest.NewServer(http.RedirectHandler(r.URL, http.StatusTemporaryRedirect))
	t.Cleanup(away.Close)
	local.makeWebhook("hook", away.URL)
	a = local.call("POST", "/api/v1/webhooks/hook/test", local.token("root"), nil)
	if a.field("status") != "failed" || !strings.Contains(a.field("error"), "307") || r.wasReached() {
		t.Errorf("test of a redirect: %s", a.body)
	}
}

// Each chat gets its own form, and a name in it calls nobody.
func TestWebhook_Chats(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, onThisMachine)
	w.people()
	token := w.token("root")
	for kind, want := range map[string]string{
		"slack": `{"text":"now: test "}`, "mattermost": `{"text":"now: test ","username":"NullOps"}`,
		"teams": `"type":"AdaptiveCard"`,
	} {
		r := startReceiver(t, 0)
		w.makeWebhook(kind, r.URL, object{"kind": kind, "template": "now: {event} {deployment}"})
		a := w.call("POST", "/api/v1/webhooks/"+kind+"/test", token, nil)
		_, bodies := r.wait(t, 1)
		if a.field("status") != "sent" || !strings.Contains(bodies[0], want) {
			t.Errorf("%s: %s, sent %s", kind, a.body, bodies[0])
		}
	}
	for name, body := range map[string]object{
		"template":   {"kind": "slack", "template": "{secret}"},
		"no address": {"kind": "slack"}, "password": {"kind": "json", "url": "https://a:b@example.org"},
		"scheme": {"kind": "json", "url": "file:///etc/passwd"},
	} {
		body["events"] = []string{"deployment.ready"}
		a := w.call("PUT", "/api/v1/webhooks/new", token, body)
		if a.status != http.StatusBadRequest || a.field("field") == "" || a.field("remedy") == "" {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
}

// post is a mail server that keeps what it is given.
type post struct {
	net.Listener
	mails chan string
}

// next is the mail that comes next.
func (p *post) next(t *testing.T) string {
	t.Helper()
	select {
	case mail := <-p.mails:
		return mail
	case <-time.After(time.Minute):
		t.Fatal("no mail came")
		return ""
	}
}

func mailServer(t *testing.T) *post {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &post{Listener: l, mails: make(chan string, 10)}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { p.talk(c) })
		}
	})
	t.Cleanup(func() { _ = l.Close(); running.Wait() })
	return p
}

func (p *post) talk(c net.Conn) {
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	say := func(s string) { _, _ = io.WriteString(c, s+"\r\n") }
	say("220 post")
	lines := bufio.NewScanner(c)
	var mail bytes.Buffer
	inside := false
	for lines.Scan() {
		text := lines.Text()
		switch {
		case inside && text == ".":
			inside = false
			p.mails <- mail.String()
			mail.Reset()
			say("250 taken")
		case inside:
			mail.WriteString(text + "\n")
		case text == "DATA":
			inside = true
			say("354 go on")
		case text == "QUIT":
			say("221 bye")
			return
		default:
			mail.WriteString(text + "\n")
			say("250 fine")
		}
	}
}

// People hear by mail of what they chose, and of nothing they may not see.
func TestMail_OptInAndAccess(t *testing.T) {
	t.Parallel()
	server := mailServer(t)
	w := newWorldWith(t, func(w *world) {
		w.mail = notify.MailConfig{Server: server.Addr().String(), From: "NullOps <nullops@example.org>"}
	})
	w.shop()
	for _, name := range []string{"reader", "stranger"} {
		a := w.call("PUT", "/api/v1/me/notifications", w.token(name), object{"choices": []object{{
			"email": name + "@example.org", "events": []string{"deployment.created"}}}})
		if a.status != http.StatusOK || a.field("available") != "true" {
			t.Fatalf("%s chooses: %d %s", name, a.status, a.body)
		}
	}
	w.deploy("first")
	mail := server.next(t)
	head, body, _ := strings.Cut(mail, "\n\n")
	text, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(body, "\n", ""))
	if err != nil || !strings.Contains(head, "To: <reader@example.org>") ||
		!strings.Contains(string(text), "Project: shop") {
		t.Errorf("%v: %s\n%s", err, head, text)
	}
	// The second mail is of the second deployment, so that none went to the stranger.
	w.deploy("second")
	if mail := server.next(t); !strings.Contains(mail, "To: <reader@example.org>") {
		t.Errorf("somebody else hears of it too: %s", mail)
	}
	w.call("PUT", "/api/v1/me/notifications", w.token("reader"), object{"choices": []object{}})
	if a := w.call("GET", "/api/v1/me/notifications", w.token("reader"), nil); strings.Contains(
		string(a.body), "reader@") {
		t.Errorf("the choice stayed: %s", a.body)
	}
	bad := w.call("PUT", "/api/v1/me/notifications", w.token("reader"), object{"choices": []object{{
		"email": "a@b.org\r\nBcc: c@d.org", "events": []string{"deployment.created"}}}})
	if bad.status != http.StatusBadRequest || bad.field("field") != "choices.0.email" {
		t.Errorf("a mail address with a header in it: %d %s", bad.status, bad.body)
	}
}

// Only people who chose it are notified that a deployment ends soon.
func TestMail_NoWarningsUnlessChosen(t *testing.T) {
	t.Parallel()
	server := mailServer(t)
	w := newWorldWith(t, func(w *world) {
		w.mail = notify.MailConfig{Server: server.Addr().String(), From: "NullOps <nullops@example.org>"}
	})
	w.shop()
	w.expectSaved(w.catalog.PutEnvironment(t.Context(), system, catalog.EnvironmentPut{Name: "qa",
		Domain: "localhost", CleanupAfterHours: 48}))
	token := w.token("reader")
	chooses := func(events ...string) {
		t.Helper()
		w.expect(200, "PUT", "/me/notifications", token, object{"choices": []object{{
			"email": "reader@example.org", "events": events}}}, nil)
	}
	nearsItsEnd := func(name string) {
		t.Helper()
		d := w.deploy(name)
		pgtest.Exec(t, w.database, `UPDATE deployments SET active_at = now() - interval '30 hours'
			WHERE id = $1`, string(d.ID))
		if told, err := w.lifecycle.NotifyExpiries(t.Context(), system); told != 1 || err != nil {
			t.Fatalf("%d notices, %v", told, err)
		}
	}
	// All but the warning. Mails go in order, so that the last of these is the
	// removal, and nothing came between.
	chooses("deployment.created", "deployment.removed")
	nearsItsEnd("first")
	nearsItsEnd("second")
	for range 2 {
		// promise: N-268
		if mail := server.next(t); !strings.Contains(mail, "created") {
			t.Errorf("a mail nobody chose: %s", mail)
		}
	}
	// What happened is matched with what is chosen when it is sent on.
	for pgtest.QueryValue[int](t, w.database, "SELECT count(*)::int FROM notices") > 0 {
		time.Sleep(10 * time.Millisecond)
	}
	chooses("deployment.expiring")
	nearsItsEnd("third")
	if mail := server.next(t); !strings.Contains(mail, "third") || strings.Contains(mail, "created") {
		t.Errorf("the warning that was chosen: %s", mail) // promise: N-268
	}
}
