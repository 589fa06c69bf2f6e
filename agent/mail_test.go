package agent_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/smtp"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/dummy"
	"github.com/nullops/nullops/agent/mailbox"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// send sends a mail as a service of the deployment would, with a user name and password that nobody
// gave it.
func send(t *testing.T, r *dummy.Runtime, deployment, to, text string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conn, err := r.DialMail(ctx, deployment)
	if err != nil {
		return err
	}
	c, err := smtp.NewClient(conn, "localhost")
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	if err := c.Auth(smtp.PlainAuth("", "anybody", "anything", "localhost")); err != nil {
		return err
	}
	if err := c.Mail("shop@example.com"); err != nil {
		return err
	}
	if err := c.Rcpt(to); err != nil {
		return err
	}
	w, err := c.Data()
	if err != nil {
		return err
	}
	if _, err := io.WriteString(w, strings.ReplaceAll(text, "\n", "\r\n")); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return c.Quit()
}

// request asks the agent, and returns the answer's body.
func (n *node) request(method, path string) (int, string) {
	n.t.Helper()
	transport := wire.NewTransport(func(ctx context.Context) (net.Conn, error) { return n.dial(ctx) })
	transport.DisableKeepAlives = true
	q, err := http.NewRequestWithContext(n.t.Context(), method, "http://agent"+path, nil)
	if err != nil {
		n.t.Fatal(err)
	}
	answer, err := (&http.Client{Transport: transport}).Do(q)
	if err != nil {
		n.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		n.t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

// mails lists a deployment's, once the agent has the secrets to mask them.
func (n *node) mails(deployment, query string) (l wire.MailList) {
	n.t.Helper()
	path := strings.Replace(wire.PathMails, "{id}", deployment, 1) + query
	var status int
	var body string
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		if status, body = n.request(http.MethodGet, path); status != http.StatusServiceUnavailable {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err := json.Unmarshal([]byte(body), &l); err != nil {
		n.t.Fatalf("%d %s: %v", status, body, err)
	}
	return l
}

const welcomeMail = `From: Shop <shop@example.com>
To: Ann <ann@example.com>
Subject: =?utf-8?q?Willkommen=2C_Ann?=
Content-Type: text/html; charset=utf-8

<p>Your key is ` + password + `: <a href="https://shop.example/confirm?a=1&amp;b=2">confirm</a></p>
`

// A deployment's mails are caught, listed newest first, masked, and survive a restart of the agent.
// They are deleted with the deployment.
func TestAgent_CatchesMails(t *testing.T) {
	p, dir := newPlane(t), t.TempDir()
	r := dummy.New(dummy.Hooks{Plugin: runMaker})
	config := agent.Config{Data: dir, Mails: mailbox.DefaultLimits()}
	n := p.bootWith(config, r)
	s := n.connect()
	p.want(s, shopGoal("d1"))
	p.untilPhase("d1", wire.PhaseReady)
	for _, to := range []string{"ann@example.com", "ben@example.com"} {
		if err := send(t, r, "d1", to, welcomeMail); err != nil {
			t.Fatal(err)
		}
	}

	n.stop()
	n = p.bootWith(config, r)
	s = n.connect()
	l := n.mails("d1", "")
	if l.State != wire.MailOn || len(l.Items) != 2 || l.Items[0].To[0] != "ben@example.com" ||
		l.Items[1].Subject != "Willkommen, Ann" || l.Items[1].Number != 1 {
		t.Fatalf("the list is %+v", l)
	}
	if l := n.mails("d1", "?search=CONFIRM&to=ann@"); len(l.Items) != 2 {
		t.Errorf("a search found %+v: both are addressed to Ann in their header", l.Items)
	}
	// What is masked is not found either: a search must not spell out a secret.
	if l := n.mails("d1", "?search="+password[:5]); len(l.Items) != 0 {
		t.Errorf("a search for a part of a secret found %+v", l.Items)
	}
	_, body := n.request(http.MethodGet, "/v1/deployments/d1/mails/1")
	var m wire.Mail
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	if !strings.Contains(m.HTML, "Your key is [secret]") || len(m.Links) != 1 ||
		m.Links[0] != "https://shop.example/confirm?a=1&b=2" {
		t.Errorf("the mail is %+v", m)
	}
	for _, path := range []string{"/raw", "/page", ""} {
		if _, body := n.request(http.MethodGet, "/v1/deployments/d1/mails/1"+path); strings.Contains(
			body, password) || !strings.Contains(body, "[secret]") {
			t.Errorf("%s is not masked: %s", path, body)
		}
	}

	if status, body := n.request(http.MethodDelete, "/v1/deployments/d1/mails/1"); status != 200 {
		t.Errorf("delete: %d %s", status, body)
	}
	if l := n.mails("d1", ""); len(l.Items) != 1 || l.Last != 2 {
		t.Errorf("after a deletion the list is %+v", l)
	}
	p.want(s, goneGoal("d1"))
	p.untilPhase("d1", wire.PhaseRemoved)
	awaitNoFolder(t, filepath.Join(dir, "mails", "d1"))
}

func awaitNoFolder(t *testing.T, path string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(path); os.IsNotExist(err) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is still there", path)
		}
	}
}

// Whoever waits for a mail hears of it.
func TestAgent_TellsOfMails(t *testing.T) {
	p := newPlane(t)
	r := dummy.New(dummy.Hooks{Plugin: runMaker})
	n := p.bootWith(agent.Config{Data: t.TempDir(), Mails: mailbox.DefaultLimits()}, r)
	s := n.connect()
	p.want(s, shopGoal("d1"))
	p.untilPhase("d1", wire.PhaseReady)
	transport := wire.NewTransport(func(ctx context.Context) (net.Conn, error) { return n.dial(ctx) })
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		"http://agent/v1/deployments/d1/mails/changes", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := (&http.Client{Transport: transport}).Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	line := make([]byte, 64)
	if n, err := answer.Body.Read(line); n == 0 || err != nil {
		t.Fatalf("the first line: %v", err)
	}
	if err := send(t, r, "d1", "ann@example.com", welcomeMail); err != nil {
		t.Fatal(err)
	}
	if n, err := answer.Body.Read(line); n == 0 || err != nil {
		t.Errorf("the line of a mail: %v", err)
	}
}

// A pipeline's own service mail wins, a node may catch none, and both are said.
func TestAgent_SaysWhyItCatchesNoMails(t *testing.T) {
	own := shopGoal("d1")
	own.Pipeline.Steps[2].Key = "mail"
	own.Pipeline.Order, _ = pipeline.Order(own.Pipeline)
	for _, c := range []struct {
		state wire.MailState
		goal  wire.Goal
		mails mailbox.Limits
	}{
		{wire.MailService, own, mailbox.DefaultLimits()},
		{wire.MailOff, shopGoal("d1"), mailbox.Limits{}},
	} {
		t.Run(string(c.state), func(t *testing.T) {
			p := newPlane(t)
			r := dummy.New(dummy.Hooks{Plugin: runMaker})
			n := p.bootWith(agent.Config{Data: t.TempDir(), Mails: c.mails}, r)
			p.want(n.connect(), c.goal)
			p.untilPhase("d1", wire.PhaseReady)
			if l := n.mails("d1", ""); l.State != c.state {
				t.Errorf("the state is %q", l.State)
			}
			if err := send(t, r, "d1", "ann@example.com", welcomeMail); err == nil {
				t.Error("the mail was caught")
			}
		})
	}
}
