package notify

import (
	"bufio"
	"encoding/base64"
	"io"
	"mime"
	"net"
	"net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
)

// Subject and body hold what people wrote: none of it becomes a header, and all of it
// arrives.
func TestFormatMail_NothingBecomesAHeader(t *testing.T) {
	t.Parallel()
	from := &mail.Address{Name: "NullOps", Address: "nullops@example.org"}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"a\r\nBcc: eve@example.org",
			"\r\n.\r\nQUIT", "ä\nSubject: x"}))
		d := controlplane.Delivery{Email: "ada@example.org", Subject: text.Draw(t, "subject"),
			Body: strings.Repeat(text.Draw(t, "body"), rapid.IntRange(0, 99).Draw(t, "times"))}
		raw := MailConfig{}.formatMail(from, d)
		m, err := mail.ReadMessage(strings.NewReader(string(raw)))
		if err != nil {
			t.Fatal(err)
		}
		if len(m.Header) != 9 || m.Header.Get("Bcc") != "" || m.Header.Get("To") != "<ada@example.org>" {
			t.Fatalf("the headers are %v", m.Header)
		}
		subject, err := (&mime.WordDecoder{}).DecodeHeader(m.Header.Get("Subject"))
		if want := strings.TrimSpace(oneLine(d.Subject)); err != nil ||
			strings.TrimSpace(subject) != want {
			t.Fatalf("subject %q becomes %q %v", d.Subject, subject, err)
		}
		body, err := io.ReadAll(base64.NewDecoder(base64.StdEncoding, m.Body))
		if err != nil || string(body) != d.Body {
			t.Fatalf("body %q becomes %q %v", d.Body, body, err)
		}
		for line := range strings.Lines(string(raw)) {
			if len(line) > 998 || strings.HasPrefix(line, ".") || !strings.HasSuffix(line, "\r\n") {
				t.Fatalf("line %q", line)
			}
		}
	})
}

// newMailServer answers RCPT with what the test says; all else it takes.
func newMailServer(t *testing.T, answer func(recipient string) string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { serveMail(c, answer) })
		}
	})
	t.Cleanup(func() { _ = l.Close(); running.Wait() })
	return l.Addr().String()
}

func serveMail(c net.Conn, answer func(string) string) {
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	say := func(s string) { _, _ = io.WriteString(c, s+"\r\n") }
	say("220 post")
	data := false
	for lines := bufio.NewScanner(c); lines.Scan(); {
		line := lines.Text()
		switch {
		case data && line != ".":
		case data:
			data = false
			say("250 taken")
		case strings.HasPrefix(line, "RCPT"):
			say(answer(line))
		case strings.HasPrefix(line, "DATA"):
			data = true
			say("354 go on")
		case strings.HasPrefix(line, "QUIT"):
			say("221 bye")
			return
		default:
			say("250 ok")
		}
	}
}

// A mail server may explain a refusal in any charset, or in none. That refusal ends like
// any other, and holds up no other mail.
func TestSendDue_MailEndsWhateverTheServerSays(t *testing.T) {
	t.Parallel()
	refusal := "550 Empf\xe4nger \x00 unbekannt " + strings.Repeat("\xfc", 600)
	server := newMailServer(t, func(recipient string) string {
		if strings.Contains(recipient, "full@") {
			return refusal
		}
		return "250 ok"
	})
	w := newWorld(
		t,
		func(c *Config) { c.Mail = MailConfig{Server: server, From: "nullops@example.org"} },
	)
	for id, name := range map[controlplane.UserID]string{idPrefix + "01": "root",
		idPrefix + "02": "full", idPrefix + "03": "reader"} {
		actor := access.User(controlplane.User{ID: id, Name: name, Role: controlplane.RoleUser}, nil)
		err := w.SetChoices(t.Context(), actor, []controlplane.NotificationChoice{
			{Email: name + "@example.org", Events: []string{"deployment.failed"}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	w.insertNotice("deployment.failed", first)
	w.run()
	got := pgtest.QueryValue[string](
		t,
		w.url,
		`SELECT string_agg(email || ' ' || status || ' ' || attempts,
		', ' ORDER BY email) FROM deliveries`,
	)
	want := "full@example.org failed 12, reader@example.org sent 1, root@example.org sent 1"
	if got != want {
		t.Errorf("deliveries are %q, want %q", got, want)
	}
	reason := pgtest.QueryValue[string](
		t,
		w.url,
		"SELECT error FROM deliveries WHERE status = 'failed'",
	)
	if !strings.Contains(reason, "Empf") || len(reason) > 510 {
		t.Errorf("the reason is %q", reason)
	}
}
