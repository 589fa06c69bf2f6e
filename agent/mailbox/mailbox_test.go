package mailbox_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/smtp"
	"net/textproto"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/nullops/nullops/agent/mailbox"
)

func keep(text string) string { return text }

// serve opens a store with limits, and serves one mailbox of it on a real port.
func serve(t *testing.T, dir string, limits mailbox.Limits) (box *mailbox.Box, address string) {
	t.Helper()
	box, err := mailbox.Open(dir, limits).Box("d1")
	if err != nil {
		t.Fatal(err)
	}
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	done := make(chan error)
	go func() {
		done <- box.Serve(ctx, func(context.Context) (net.Conn, error) { return l.Accept() },
			slog.New(slog.DiscardHandler))
	}()
	t.Cleanup(func() {
		cancel()
		stop()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return box, l.Addr().String()
}

func send(address, text string) error {
	return smtp.SendMail(address, nil, "shop@example.com", []string{"ann@example.com"},
		[]byte(strings.ReplaceAll(text, "\n", "\r\n")))
}

func mustSend(t *testing.T, address, text string) {
	t.Helper()
	if err := send(address, text); err != nil {
		t.Fatal(err)
	}
}

func list(t *testing.T, box *mailbox.Box) []mailbox.Summary {
	t.Helper()
	all, _, err := box.List(mailbox.Query{Most: 1000}, keep)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A flood drops the oldest mails, by number and by bytes, and says how many.
//
// promise: W-07
func TestBox_DropsTheOldest(t *testing.T) {
	limits := mailbox.DefaultLimits()
	limits.Mails, limits.Bytes = 3, 64<<10
	dir := t.TempDir()
	box, address := serve(t, dir, limits)
	for i := range 5 {
		mustSend(t, address, fmt.Sprintf("Subject: %d\n\nHello\n", i))
	}
	if all, c := list(t, box), box.Counts(); len(all) != 3 || all[2].Subject != "2" || c.Dropped != 2 {
		t.Errorf("kept %+v, %+v", all, c)
	}
	mustSend(t, address, "Subject: large\n\n"+strings.Repeat("0123456789\n", 4000))
	mustSend(t, address, "Subject: larger\n\n"+strings.Repeat("0123456789\n", 4000))
	all, c := list(t, box), box.Counts()
	if len(all) != 1 || all[0].Subject != "larger" || c.Dropped != 6 || c.Bytes > limits.Bytes {
		t.Errorf("kept %+v, %+v", all, c)
	}
	// The counts and the numbers survive the agent, and no mail that was cleared comes back.
	if err := box.Clear(); err != nil {
		t.Fatal(err)
	}
	again, err := mailbox.Open(dir, limits).Box("d1")
	if err != nil {
		t.Fatal(err)
	}
	if c := again.Counts(); c.Last != 7 || c.Mails != 0 {
		t.Errorf("after a restart: %+v", c)
	}
}

// All mailboxes of a node share a limit, in which the fullest one makes room: the mails of others
// stay.
//
// threat: T55
func TestStore_TheFullestMakesRoom(t *testing.T) {
	limits := mailbox.DefaultLimits()
	limits.Total = 32 << 10
	store := mailbox.Open(t.TempDir(), limits)
	add := func(deployment string, size int) {
		t.Helper()
		box, err := store.Box(deployment)
		if err == nil {
			err = box.Add(mailbox.Envelope{}, bytes.NewReader(make([]byte, size)))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	add("quiet", 4<<10)
	for range 20 {
		add("flood", 8<<10)
	}
	add("quiet", 4<<10)
	quiet, _ := store.Box("quiet")
	flood, _ := store.Box("flood")
	if c := quiet.Counts(); c.Mails != 2 || c.Dropped != 0 {
		t.Errorf("the quiet deployment: %+v", c)
	}
	if c := flood.Counts(); c.Mails == 0 || c.Bytes+quiet.Counts().Bytes > limits.Total {
		t.Errorf("the flood: %+v", c)
	}
}

// A mail that is too large, or that the disk has no room for, is refused with a sentence, counted,
// and leaves nothing.
func TestBox_RefusesWhatDoesNotFit(t *testing.T) {
	limits := mailbox.DefaultLimits()
	limits.Mail = 64 << 10
	dir := t.TempDir()
	box, address := serve(t, dir, limits)
	err := send(address, "Subject: large\n\n"+strings.Repeat("0123456789\n", 10000))
	if said, ok := errors.AsType[*textproto.Error](err); !ok || said.Code != 552 {
		t.Errorf("a mail that is too large: %v", err)
	}
	limits.Free = 1 << 60
	full, address := serve(t, t.TempDir(), limits)
	err = send(address, "Subject: small\n\nHello\n")
	if said, ok := errors.AsType[*textproto.Error](err); !ok || said.Code != 452 {
		t.Errorf("a mail for a full disk: %v", err)
	}
	for _, b := range []*mailbox.Box{box, full} {
		if c := b.Counts(); c.Refused != 1 || c.Mails != 0 || c.Bytes != 0 {
			t.Errorf("counted %+v", c)
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, "d1", "*.new"))
	if err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

// A client that goes away in the middle leaves nothing, and neither does an agent that ended then.
func TestBox_ForgetsHalfMails(t *testing.T) {
	dir := t.TempDir()
	box, address := serve(t, dir, mailbox.DefaultLimits())
	c, err := smtp.Dial(address)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.Mail("a@example.com"), c.Rcpt("b@example.com")); err != nil {
		t.Fatal(err)
	}
	w, err := c.Data()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, "Subject: half"); err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	mustSend(t, address, "Subject: whole\n\nHello\n")
	if err := os.WriteFile(filepath.Join(dir, "d1", "1.new"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if all, counts := list(t, box), box.Counts(); len(all) != 1 || counts.Refused != 0 {
		t.Errorf("kept %+v, %+v", all, counts)
	}
	if _, err := mailbox.Open(dir, mailbox.DefaultLimits()).Box("d1"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "d1", "1.new")); !os.IsNotExist(err) {
		t.Errorf("the half mail of an agent that ended is still there: %v", err)
	}
}

// Nobody reads or writes a mailbox after it was removed.
func TestStore_Remove(t *testing.T) {
	dir := t.TempDir()
	store := mailbox.Open(dir, mailbox.DefaultLimits())
	box, err := store.Box("d1")
	if err == nil {
		err = box.Add(mailbox.Envelope{}, strings.NewReader("Subject: a\r\n\r\n"))
	}
	if err == nil {
		err = store.Remove("d1")
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := box.Add(mailbox.Envelope{}, strings.NewReader("late")); err == nil {
		t.Error("a late mail was stored")
	}
	if again, err := store.Box("d1"); err != nil || again.Counts() != (mailbox.Counts{}) {
		t.Errorf("a new mailbox has %+v, %v", again.Counts(), err)
	}
}

// readOne stores a mail and reads it again.
func readOne(t *testing.T, text string) (*mailbox.Box, mailbox.Message) {
	t.Helper()
	box, err := mailbox.Open(t.TempDir(), mailbox.DefaultLimits()).Box("d1")
	if err == nil {
		err = box.Add(mailbox.Envelope{To: []string{"ann@example.com"}},
			strings.NewReader(strings.ReplaceAll(text, "\n", "\r\n")))
	}
	if err != nil {
		t.Fatal(err)
	}
	m, err := box.Read(1)
	if err != nil {
		t.Fatal(err)
	}
	return box, m
}

const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY" +
	"42YAAAAASUVORK5CYII="

var order = `From: =?iso-8859-1?q?K=F6chin?= <cook@example.com>
To: ann@example.com
Subject: =?utf-8?b?QmVzdGVsbHVuZw==?=
Content-Type: multipart/mixed; boundary=outer

--outer
Content-Type: multipart/alternative; boundary=inner

--inner
Content-Type: text/plain; charset=iso-8859-1
Content-Transfer-Encoding: quoted-printable

Gr=FC=DFe: https://shop.example/o/1.
--inner
Content-Type: text/html; charset=utf-8

<p>Grüße</p><img src="cid:logo@shop"><a href="https://shop.example/o/1">order</a>
--inner--
--outer
Content-Type: image/png; name="logo.png"
Content-ID: <logo@shop>
Content-Disposition: inline; filename="logo.png"
Content-Transfer-Encoding: base64

` + pixel + `
--outer
Content-Type: application/pdf
Content-Disposition: attachment; filename="=?utf-8?q?Rechnung_=E2=82=AC.pdf?="
Content-Transfer-Encoding: base64

` + base64.StdEncoding.EncodeToString([]byte("a bill")) + `
--outer--
`

// A mail as applications send it: texts in their character sets, attachments, and images of its own
// in its page.
//
// promise: W-07
func TestBox_ReadsAMail(t *testing.T) {
	box, m := readOne(t, order)
	if m.Subject != "Bestellung" || m.Sender != "Köchin <cook@example.com>" ||
		!strings.HasPrefix(m.Text, "Grüße: ") || !strings.Contains(m.HTML, "<p>Grüße</p>") ||
		len(m.Problems) > 0 || len(m.Header) != 4 {
		t.Errorf("read %+v", m)
	}
	if len(m.Links) != 1 || m.Links[0] != "https://shop.example/o/1" {
		t.Errorf("its links are %v", m.Links)
	}
	if len(m.Attachments) != 2 || m.Attachments[1].Name != "Rechnung €.pdf" ||
		m.Attachments[1].Bytes != 6 {
		t.Fatalf("its attachments are %+v", m.Attachments)
	}
	var content []byte
	err := box.Part(1, m.Attachments[1].Index, func(_ mailbox.Attachment, r io.Reader) (err error) {
		content, err = io.ReadAll(r)
		return err
	})
	if err != nil || string(content) != "a bill" {
		t.Errorf("the attachment is %q, %v", content, err)
	}
	if err := box.Part(1, 77, nil); !errors.Is(err, mailbox.ErrNoMail) {
		t.Errorf("an attachment that is not there: %v", err)
	}
	page, err := box.Page(1, keep)
	if err != nil || !strings.Contains(page, `<img src="data:image/png;base64,`+pixel+`">`) {
		t.Errorf("the page is %s, %v", page, err)
	}
}

// Whatever a mail looks like, it can be read, or a sentence says why not, and reading it takes no
// more memory than its limits.
//
// threat: T55
func TestBox_ReadsHostileMails(t *testing.T) {
	nested := strings.Builder{}
	for i := range 200 {
		fmt.Fprintf(&nested, "Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n", i, i)
	}
	const multipart = "Content-Type: multipart/mixed; boundary=b\n\n"
	fields := strings.Repeat("A: b\n", 1<<18)
	for name, c := range map[string]struct{ mail, problem string }{
		"deep":        {nested.String(), "nested more than 8 deep"},
		"many parts":  {multipart + strings.Repeat("--b\n\nx\n", 5000), "more than 100 parts"},
		"many fields": {fields + "\nbody\n", "header is very long"},
		"one field":   {"Subject: " + strings.Repeat("a ", 1<<18) + "\n\nbody\n", ""},
		"folded":      {"Subject: a\n" + strings.Repeat(" b\n", 1<<18) + "\nbody\n", "very long"},
		"part fields": {multipart + "--b\n" + fields, "damaged"},
		"no fields":   {"hello\nworld\n\nbody\n", "not fields"},
		"charset":     {"Content-Type: text/plain; charset=klingon\n\nnuqneH\n", "klingon is not known"},
		"not UTF-8":   {"Content-Type: text/plain; charset=utf-8\n\n\xff\xfe\n", ""},
		"base64":      {"Content-Transfer-Encoding: base64\n\n!!!=!\n", "damaged"},
		"long text":   {"\n" + strings.Repeat("0123456789\n", 300_000), "only its first MiB"},
		"type":        {"Content-Type: text/plain; ;;; charset\n\nbody\n", ""},
		"boundary":    {multipart + "no parts\n", "none was found"},
		"empty":       {"", ""},
		"words":       {"Subject: =?utf-8?q?a=ZZ?= =?klingon?b?!!?= =?\n\nbody\n", ""},
		"twice":       {"Subject: one\nSubject: two\nTo: a\nTo: b\n\nbody\n", ""},
		"control":     {"Subject: \x00\x1b[2J\n\n\x00\x1b[2J\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			box, _ := readOne(t, c.mail)
			runtime.ReadMemStats(&before)
			m, err := box.Read(1)
			runtime.ReadMemStats(&after)
			if err != nil {
				t.Fatal(err)
			}
			if problems := strings.Join(m.Problems, " "); c.problem == "" && problems != "" ||
				!strings.Contains(problems, c.problem) {
				t.Errorf("it says %q", problems)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20 {
				t.Errorf("reading it took %d MiB", used>>20)
			}
			if all := list(t, box); len(all) != 1 || len(all[0].Subject) > 600 {
				t.Errorf("the list is %d mails", len(all))
			}
		})
	}
}

// What an attachment is called leads to no other folder, whatever the mail says.
//
// threat: T55
func TestBox_NamesAttachmentsSafely(t *testing.T) {
	for name, want := range map[string]string{"../../etc/passwd": "passwd", "bill.pdf": "bill.pdf",
		`..\\..\\boot.ini`: "boot.ini", `C:\\x.exe`: "x.exe", "..": "", "/": "", ".profile": "profile",
		"a\tb.pdf": "a b.pdf", "\u202efdp.exe": "fdp.exe", "a\u009b31m": "a 31m",
		"=?utf-8?q?..=2F..=2Fx?=": "x",
		strings.Repeat("a", 2000): strings.Repeat("a", 500) + "…"} {
		box, m := readOne(t, "Content-Type: application/pdf; name=\""+name+"\"\n\nx\n")
		if len(m.Attachments) != 1 || m.Attachments[0].Name != want {
			t.Errorf("%q is called %+v, want %q", name, m.Attachments, want)
		}
		err := box.Part(1, 0, func(a mailbox.Attachment, _ io.Reader) error {
			if a.Name != want {
				t.Errorf("%q is downloaded as %q", name, a.Name)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// Parameters that their writer did not quote, repeated, or spelled in another character set mean
// what people take them for.
//
// promise: W-07
func TestBox_ReadsSloppyParameters(t *testing.T) {
	for line, want := range map[string]string{
		`attachment; filename=Bill of May 2026.pdf`:                   "Bill of May 2026.pdf",
		`attachment; filename*=iso-8859-1'de'Gr%FC%DFe.pdf`:           "Grüße.pdf",
		`attachment; filename*=utf-8''Gr%C3%BC%C3%9Fe.pdf`:            "Grüße.pdf",
		`attachment; filename*0*=utf-8''a%3B; filename*1=b.pdf`:       "a;b.pdf",
		`attachment; filename="a;b \"c\".pdf"; size=1`:                `a;b "c".pdf`,
		`attachment; filename=a.pdf; filename=a.pdf`:                  "a.pdf",
		`attachment; size=1 2; filename="Über;all.pdf"; x=(`:          "Über;all.pdf",
		`attachment; filename==?utf-8?q?Gr=C3=BC=C3=9Fe?=.pdf`:        "Grüße.pdf",
		`attachment; filename=../../etc/pass wd; filename*=broken%ZZ`: "pass wd",
	} {
		_, m := readOne(t, "Content-Type: application/pdf\nContent-Disposition: "+line+"\n\nx\n")
		if len(m.Attachments) != 1 || m.Attachments[0].Name != want {
			t.Errorf("%s: %+v, want %q", line, m.Attachments, want)
		}
	}
	_, m := readOne(t, `Content-Type: multipart/alternative; boundary=----=_Part 1

------=_Part 1
Content-Type: text/plain; charset=utf-8; charset=utf-8

plain
------=_Part 1
Content-Type: text/html; charset=iso 8859

<b>page</b>
------=_Part 1--
`)
	if m.Text != "plain" || m.HTML != "<b>page</b>" || len(m.Attachments) > 0 {
		t.Errorf("a boundary without quotes: %+v", m)
	}
}

// A mark of the order of bytes is no part of a text, and counts for more than the header.
func TestBox_ReadsByteOrderMarks(t *testing.T) {
	for body, want := range map[string]string{"\xef\xbb\xbfGr\xc3\xbc\xc3\x9fe": "Grüße",
		"\xff\xfeH\x00i\x00": "Hi", "\xfe\xff\x00H\x00i": "Hi", "Gr\xfc\xdfe": "Gr\uFFFD\uFFFDe"} {
		for _, charset := range []string{"utf-8", "utf-16"} {
			if charset == "utf-16" && body[0] == 'G' {
				continue
			}
			_, m := readOne(t, "Content-Type: text/plain; charset="+charset+
				"\nContent-Transfer-Encoding: base64\n\n"+
				base64.StdEncoding.EncodeToString([]byte(body))+"\n")
			if m.Text != want || len(m.Problems) > 0 {
				t.Errorf("%q in %s: %q, %v", body, charset, m.Text, m.Problems)
			}
		}
	}
}

// FuzzBox_Read: no mail makes reading it fail or panic.
func FuzzBox_Read(f *testing.F) {
	f.Add(order)
	f.Add("Content-Type: multipart/mixed; boundary=\"\"\n\n----\n")
	f.Fuzz(func(t *testing.T, mail string) {
		box, _ := readOne(t, mail)
		if _, err := box.Page(1, keep); err != nil {
			t.Error(err)
		}
	})
}

// Clients that sign in with LOGIN, in both its forms, are let in.
func TestBox_AcceptsLogin(t *testing.T) {
	box, address := serve(t, t.TempDir(), mailbox.DefaultLimits())
	for _, first := range []string{"AUTH LOGIN", "AUTH LOGIN dXNlcg=="} {
		c, err := textproto.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		lines := []string{"EHLO app", first, "dXNlcg==", "cGFzcw==", "MAIL FROM:<a@example.com>",
			"RCPT TO:<b@example.com>", "DATA"}
		if strings.HasSuffix(first, "==") {
			lines = append(lines[:2], lines[3:]...)
		}
		if _, _, err := c.ReadResponse(220); err != nil {
			t.Fatal(err)
		}
		for _, line := range append(lines, "Subject: hello\r\n\r\nx\r\n.") {
			if err := c.PrintfLine("%s", line); err != nil {
				t.Fatal(err)
			}
			if code, said, err := c.ReadResponse(0); code >= 400 || code == 0 {
				t.Fatalf("%s was answered with %d %s %v", line, code, said, err)
			}
		}
		_ = c.Close()
	}
	if all := list(t, box); len(all) != 2 {
		t.Errorf("kept %+v", all)
	}
}
