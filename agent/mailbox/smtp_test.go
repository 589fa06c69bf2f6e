package mailbox_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/agent/mailbox"
)

// client says lines to a server as they are.
type client struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

func dial(t *testing.T, address string) *client {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
	c := &client{t: t, conn: conn, in: bufio.NewReader(conn)}
	c.expect("220")
	return c
}

func (c *client) write(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c.conn, text); err != nil {
		c.t.Fatal(err)
	}
}

// expect reads an answer of one or more lines, and checks how its last line begins.
func (c *client) expect(want string) (all string) {
	c.t.Helper()
	for {
		line, err := c.in.ReadString('\n')
		if err != nil {
			c.t.Fatalf("in place of %s: %v", want, err)
		}
		all += line
		if len(line) > 3 && line[3] == '-' {
			continue
		}
		if !strings.HasPrefix(line, want) {
			c.t.Fatalf("in place of %s: %q", want, line)
		}
		return all
	}
}

// say sends lines and checks the answer of each: "LINE => CODE".
func (c *client) say(lines ...string) {
	c.t.Helper()
	for _, l := range lines {
		line, code, _ := strings.Cut(l, " => ")
		c.write(line + "\r\n")
		c.expect(code)
	}
}

const toAnn = "RCPT TO:<ann@example.com> => 250"

// Whatever mail libraries do by default ends with a caught mail: no sign-in or any, also one that
// is not offered, and STARTTLS that they try in vain.
func TestBox_TakesWhatLibrariesSend(t *testing.T) {
	const from, data = "MAIL FROM:<shop@example.com> => 250", "DATA => 354"
	const mail = "Subject: hello\r\n\r\nHello\r\n. => 250"
	plain := []string{from, toAnn, data, mail}
	for name, lines := range map[string][]string{
		"no sign-in": plain,
		"no sender":  {"MAIL FROM:<> => 250", toAnn, data, mail},
		"parameters": {"MAIL FROM:<a@b.c> BODY=8BITMIME SMTPUTF8 SIZE=100 => 250", toAnn, data, mail},
		"reports": {"MAIL FROM:<a@b.c> RET=HDRS ENVID=1 => 250",
			"RCPT TO:<ann@example.com> NOTIFY=SUCCESS,FAILURE ORCPT=rfc822;ann@example.com => 250", data,
			mail},
		"UTF-8":    {"MAIL FROM:<köchin@example.com> SMTPUTF8 => 250", toAnn, data, mail},
		"STARTTLS": append([]string{"STARTTLS => 502"}, plain...),
		"reset":    append([]string{from, "RSET => 250", "NOOP => 250", "VRFY ann => 252"}, plain...),
		"twice":    append([]string{"EHLO app => 250"}, plain...),
		"PLAIN":    append([]string{"AUTH PLAIN AHVzZXIAcGFzcw== => 235"}, plain...),
		"PLAIN later": append([]string{"AUTH PLAIN => 334", "AHVzZXIAcGFzcw== => 235"},
			plain...),
		"PLAIN of nobody": append([]string{"AUTH PLAIN = => 235"}, plain...),
		"LOGIN": append([]string{"AUTH LOGIN => 334", "dXNlcg== => 334", "cGFzcw== => 235"},
			plain...),
		"LOGIN of nobody": append([]string{"AUTH LOGIN => 334", " => 334", " => 235"}, plain...),
		"CRAM-MD5":        append([]string{"AUTH CRAM-MD5 => 334", "dXNlciAwMTIz => 235"}, plain...),
		"XOAUTH2":         append([]string{"AUTH XOAUTH2 dXNlcj1h => 235"}, plain...),
		"unknown":         append([]string{"AUTH NTLM => 504"}, plain...),
		"gave up":         append([]string{"AUTH LOGIN => 334", "* => 501"}, plain...),
	} {
		for _, greeting := range []string{"EHLO app => 250", "HELO app => 250"} {
			t.Run(name+"/"+greeting[:4], func(t *testing.T) {
				box, address := serve(t, t.TempDir(), mailbox.DefaultLimits())
				c := dial(t, address)
				c.say(greeting)
				c.say(lines...)
				c.say("QUIT => 221")
				if all := list(t, box); len(all) != 1 || all[0].Subject != "hello" {
					t.Errorf("kept %+v", all)
				}
			})
		}
	}
}

// A mail may come in pieces.
func TestBox_TakesPieces(t *testing.T) {
	box, address := serve(t, t.TempDir(), mailbox.DefaultLimits())
	c := dial(t, address)
	c.say("EHLO app => 250", "MAIL FROM:<a@b.c> => 250", toAnn)
	c.write("BDAT 16\r\nSubject: hello\r\nBDAT 7 LAST\r\n\r\nHello")
	c.expect("250")
	c.expect("250")
	if all := list(t, box); len(all) != 1 || all[0].Subject != "hello" || all[0].Bytes != 23 {
		t.Errorf("kept %+v", all)
	}
}

// A client that does not wait for answers is answered all the same.
func TestBox_TakesPipelinedMails(t *testing.T) {
	box, address := serve(t, t.TempDir(), mailbox.DefaultLimits())
	c := dial(t, address)
	text := "EHLO app\r\n"
	for i := range 5 {
		text += fmt.Sprintf("MAIL FROM:<a@b.c>\r\nRCPT TO:<d@e.f>\r\nDATA\r\n"+
			"Subject: %d\r\n\r\nx\r\n.\r\n", i)
	}
	c.write(text + "QUIT\r\n")
	said, err := io.ReadAll(c.in)
	if err != nil || !strings.Contains(string(said), "221 ") {
		t.Errorf("answered %q, %v", said, err)
	}
	if all := list(t, box); len(all) != 5 {
		t.Errorf("kept %+v", all)
	}
}

// Only a dot between two whole ends of lines ends a mail: what others take for the end of one, and
// for commands after it, stays in the mail.
//
// threat: T55
func TestBox_IsNotSmuggledThrough(t *testing.T) {
	for name, end := range map[string]string{"LF": "\n.\n", "LF CRLF": "\n.\r\n",
		"CRLF LF": "\r\n.\n", "CR": "\r.\r", "CR CRLF": "\r.\r\n", "NUL": "\r\n.\x00\r\n"} {
		t.Run(name, func(t *testing.T) {
			box, address := serve(t, t.TempDir(), mailbox.DefaultLimits())
			c := dial(t, address)
			c.say("EHLO app => 250", "MAIL FROM:<a@b.c> => 250", toAnn, "DATA => 354")
			c.write("Subject: first\r\n\r\nHello" + end +
				"MAIL FROM:<root@b.c>\r\nRCPT TO:<d@e.f>\r\nDATA\r\nSubject: second\r\n\r\nx\r\n.\r\n")
			c.expect("250")
			c.say("NOOP => 250")
			if all := list(t, box); len(all) != 1 || all[0].From != "a@b.c" {
				t.Errorf("kept %+v", all)
			}
		})
	}
}

// A mail in pieces whose client goes away in the middle of the last one is no mail.
func TestBox_ForgetsHalfPieces(t *testing.T) {
	box, address := serve(t, t.TempDir(), mailbox.DefaultLimits())
	c := dial(t, address)
	c.say("EHLO app => 250", "MAIL FROM:<a@b.c> => 250", toAnn)
	c.write("BDAT 1000 LAST\r\nSubject: half\r\n\r\n")
	_ = c.conn.(*net.TCPConn).CloseWrite()
	_, _ = io.ReadAll(c.in)
	mustSend(t, address, "Subject: whole\n\nHello\n")
	if all := list(t, box); len(all) != 1 || all[0].Subject != "whole" {
		t.Errorf("kept %+v", all)
	}
}

// An agent that stops while mails come in pieces keeps no half of one, and takes nothing from under
// the connections that are at work: the race detector saw that it did.
func TestBox_StopsWhilePiecesCome(t *testing.T) {
	for range 20 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			var box *mailbox.Box
			t.Cleanup(func() { // after the box was stopped
				if all := list(t, box); len(all) > 0 {
					t.Errorf("kept %+v", all)
				}
			})
			var address string
			box, address = serve(t, t.TempDir(), mailbox.DefaultLimits())
			c := dial(t, address)
			c.say("EHLO app => 250", "MAIL FROM:<a@b.c> => 250", toAnn)
			c.write("BDAT 100000 LAST\r\nSubject: half\r\n\r\n")
		})
	}
}

// A client that says how large its mail is hears at once that it is too large, and that is counted
// too. Lines and mails that are too long are refused for good, so that nobody sends them again.
func TestBox_CountsEveryRefusal(t *testing.T) {
	limits := mailbox.DefaultLimits()
	limits.Mail = 1 << 20
	box, address := serve(t, t.TempDir(), limits)
	c := dial(t, address)
	c.say("EHLO app => 250", "MAIL FROM:<a@b.c> SIZE=1048577 => 552", "MAIL FROM:<a@b.c> => 250",
		toAnn, "DATA => 354")
	c.write("Subject: large\r\n\r\n" + strings.Repeat("0123456789\r\n", 100_000) + ".\r\n")
	c.expect("552")
	c.say("MAIL FROM:<a@b.c> => 250", toAnn)
	c.write("BDAT 1100000 LAST\r\n" + strings.Repeat("0123456789\n", 100_000))
	c.expect("552")
	c.say("MAIL FROM:<a@b.c> => 250", toAnn, "DATA => 354", "Subject: small\r\n\r\nx\r\n. => 250",
		"MAIL FROM:<a@b.c> => 250", toAnn, "DATA => 354")
	go func() { _, _ = io.WriteString(c.conn, strings.Repeat("x", 400<<10)+"\r\n.\r\n") }()
	c.expect("554 5.6.0 A line of the mail is longer than 256 KiB")
	all, counts := list(t, box), box.Counts()
	if len(all) != 1 || all[0].Subject != "small" || counts.Refused != 4 {
		t.Errorf("kept %+v, counted %+v", all, counts)
	}
}

// Addresses are shown to people and programs, and have nothing that would steer what shows them.
func TestBox_CleansAddresses(t *testing.T) {
	box, address := serve(t, t.TempDir(), mailbox.DefaultLimits())
	c := dial(t, address)
	c.say("EHLO \x1b[31mapp => 250", "MAIL FROM:<\"\x1b[31m\"@b.c> => 250",
		"RCPT TO:<\""+strings.Repeat("é", 400)+"\"@b.c> => 250", "DATA => 354",
		"Subject: a\x00b\x1bc\r\n\r\nx\x00y\x1b[2J\r\n. => 250")
	all := list(t, box)
	if len(all) != 1 || all[0].Subject != "a b c" || len(all[0].To[0]) > 320 {
		t.Fatalf("kept %+v", all)
	}
	m, err := box.Read(1)
	if shown := fmt.Sprint(m.From, m.To, m.Helo, m.Text); err != nil ||
		strings.ContainsAny(shown, "\x00\x1b") || !strings.Contains(m.Text, "x\uFFFDy\uFFFD[2J") {
		t.Errorf("shown %q, %v", shown, err)
	}
}
