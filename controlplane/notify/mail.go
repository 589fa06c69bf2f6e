package notify

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"mime"
	"net"
	"net/mail"
	"net/smtp"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane"
)

// MailConfig is the mail server's settings. The operator sets them, so that any address is
// allowed, this machine included.
type MailConfig struct {
	// Server is host:port; empty sends no mail. Port 465 speaks TLS from the
	// first byte; others are asked for STARTTLS.
	Server   string
	From     string
	Username string
	Password controlplane.Plain
}

// sendMail hands one mail to the server.
func (m MailConfig) sendMail(ctx context.Context, d controlplane.Delivery) error {
	if m.Server == "" {
		return fmt.Errorf("no mail server is set: %w", errFinal)
	}
	host, port, err := net.SplitHostPort(m.Server)
	if err != nil {
		return fmt.Errorf("setting mail.server: %w", err)
	}
	c, err := m.connectSMTP(ctx, host, port)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	if err := m.signIn(c, host, port); err != nil {
		return err
	}
	return m.transmitDelivery(c, d)
}

func (m MailConfig) connectSMTP(ctx context.Context, host, port string) (*smtp.Client, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, &mailError{stage: mailReach, err: err}
	}
	if until, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(until)
	}
	if port == "465" {
		conn = tls.Client(conn, &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12})
	}
	c, err := smtp.NewClient(conn, host)
	if err != nil {
		_ = conn.Close()
		return nil, &mailError{stage: mailGreet, err: err}
	}
	return c, nil
}

func (m MailConfig) signIn(c *smtp.Client, host, port string) error {
	if ok, _ := c.Extension("STARTTLS"); ok && port != "465" {
		err := c.StartTLS(&tls.Config{ServerName: host, MinVersion: tls.VersionTLS12})
		if err != nil {
			return &mailError{stage: mailEncrypt, err: err}
		}
	}
	if m.Username == "" {
		return nil
	}
	// net/smtp refuses to send a password over an unencrypted connection, except to localhost.
	err := c.Auth(smtp.PlainAuth("", m.Username, m.Password.Reveal(), host))
	if err != nil {
		return &mailError{stage: mailSignIn, err: err}
	}
	return nil
}

func (m MailConfig) transmitDelivery(c *smtp.Client, d controlplane.Delivery) error {
	from, err := mail.ParseAddress(m.From)
	if err != nil {
		return fmt.Errorf("setting mail.from: %w", err)
	}
	if err := c.Mail(from.Address); err != nil {
		return &mailError{stage: mailSender, err: err}
	}
	if err := c.Rcpt(d.Email); err != nil {
		return &mailError{stage: mailRefused, err: err}
	}
	w, err := c.Data()
	if err != nil {
		return &mailError{stage: mailRefused, err: err}
	}
	if _, err := w.Write(m.formatMail(from, d)); err != nil {
		return fmt.Errorf("send mail: %w", err)
	}
	if err := w.Close(); err != nil {
		return &mailError{stage: mailRefused, err: err}
	}
	return c.Quit()
}

// formatMail is the message: base64 carries any text, and none of it can become
// a header or end the mail early.
func (m MailConfig) formatMail(from *mail.Address, d controlplane.Delivery) []byte {
	var id [12]byte
	_, _ = rand.Read(id[:]) // it never fails, it ends the process
	_, domain, _ := strings.Cut(from.Address, "@")
	head := []string{
		"From: " + from.String(), "To: <" + d.Email + ">",
		"Subject: " + mime.QEncoding.Encode("utf-8", oneLine(d.Subject)),
		"Date: " + time.Now().UTC().Format(time.RFC1123Z),
		"Message-ID: <" + hex.EncodeToString(id[:]) + "@" + domain + ">",
		"Auto-Submitted: auto-generated", "MIME-Version: 1.0",
		`Content-Type: text/plain; charset="utf-8"`, "Content-Transfer-Encoding: base64", "", "",
	}
	text := base64.StdEncoding.EncodeToString([]byte(d.Body))
	var b strings.Builder
	b.WriteString(strings.Join(head, "\r\n"))
	for len(text) > 76 {
		b.WriteString(text[:76] + "\r\n")
		text = text[76:]
	}
	return []byte(b.String() + text + "\r\n")
}

func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
}
