package main_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/testpart"
)

// caughtMails: a job and a service send mails to mail:1025 without any setting. People and robots
// read them with the command line, one waits for a mail that comes later, and nothing is left when
// the deployment is gone.
func caughtMails(t *testing.T, w *world) {
	testpart.Rotate(t)
	p := w.product()
	n := p.node("alpha")
	tag := w.publishActor(t, "nullops-test/mailer")
	p.admin.put(t, "/services/mailer", object{"registry": "local",
		"image": "nullops-test/mailer", "tag_mode": "pinned", "tag": tag}, nil)
	small := object{"cpu": 0.2, "memory_mib": 64}
	p.define(t, "mailing",
		object{"key": "greet", "needs": []string{}, "job": object{"name": "mailer",
			"command": []string{"mail", "2"}, "timeout_seconds": 120, "resources": small}},
		object{"key": "app", "needs": []string{"greet"}, "service": object{"name": "mailer",
			"command": []string{"serve", "8080"}, "resources": small,
			"ports": []object{{"name": "http", "port": 8080, "expose": true}},
			"ready": object{"tcp": object{"port": 8080}}}})
	d := p.admin.deployReady(t, "mailing", "mailing", nil)

	var all apiclient.MailList
	p.cliJSON(t, &all, "mail", "list", "mailing")
	// promise: W-07
	if len(all.Items) != 2 || all.Items[0].Subject != "mail 2 of 2" || all.Last != 2 ||
		strings.Join(all.Items[0].To, " ") != "ann@example.com" {
		t.Fatalf("the mails of the job are %+v", all)
	}
	var m apiclient.CaughtMail
	p.cliJSON(t, &m, "mail", "wait", "mailing", "--to", "ann@", "--subject", "mail 1")
	if m.Number != 1 || m.Text != "Hello\n" {
		t.Errorf("the mail that is there is %+v", m)
	}
	if out, errs, code := p.admin.cli(t, "mail", "show", "mailing", "1"); code != 0 ||
		!strings.Contains(out, "Subject: mail 1 of 2\n") || !strings.HasSuffix(out, "\nHello\n") {
		t.Errorf("show prints %d %s%s", code, out, errs)
	}
	if out, errs, code := p.admin.cli(t, "mail", "wait", "mailing", "--to", "ben@", "--timeout",
		"300ms"); code != exitNotReady || !strings.Contains(errs, "no such mail of mailing came") {
		t.Errorf("a mail that does not come: %d %s%s", code, out, errs)
	}
	if out, _, code := p.admin.cli(t, "mail", "raw", "mailing", "2"); code != 0 ||
		!strings.HasPrefix(out, "Subject: mail 2 of 2\r\n") {
		t.Errorf("the raw mail is %q", out)
	}
	p.awaitLateMail(t)

	reader := p.member(t, "mail-reader", object{"project": "mailing", "level": "read"})
	reader.want(t, http.StatusForbidden, http.MethodDelete, "/deployments/"+d.Id+"/mails", nil, nil)
	if _, errs, code := p.admin.cli(t, "mail", "clear", "mailing"); code != 0 {
		t.Errorf("clear: %d %s", code, errs)
	}
	p.cliJSON(t, &all, "mail", "list", "mailing")
	if len(all.Items) != 0 || all.Last != 3 {
		t.Errorf("after clear there are %+v", all)
	}
	p.admin.remove(t, d.Id)
	n.nothingLeft(t, d.Id)
	if _, errs, code := p.admin.cli(t, "mail", "list", d.Id); code != 0 {
		t.Errorf("the mails of a deployment that is gone: %d %s", code, errs)
	}
}

// awaitLateMail waits for a mail that is sent after the wait began.
func (p *product) awaitLateMail(t *testing.T) {
	t.Helper()
	type ended struct {
		out, errs string
		code      int
	}
	came := make(chan ended, 1)
	go func() {
		out, errs, code := p.admin.cli(t, "mail", "wait", "mailing", "--after", "2", "--timeout", "5m",
			"--json")
		came <- ended{out, errs, code}
	}()
	if out, errs, code := p.admin.cli(t, "exec", "mailing", "app", "--", "/actor", "mail",
		"1"); code != 0 {
		t.Fatalf("the service sends no mail: %d %s%s", code, out, errs)
	}
	e := <-came
	var m apiclient.CaughtMail
	// promise: W-07
	if err := json.Unmarshal([]byte(e.out), &m); err != nil || e.code != 0 || m.Number != 3 {
		t.Errorf("who waited for a mail got %d %s%s, %v", e.code, e.out, e.errs, err)
	}
}

// cliJSON runs a command of the admin, and reads what it prints.
func (p *product) cliJSON(t *testing.T, into any, args ...string) {
	t.Helper()
	out, errs, code := p.admin.cli(t, append(args, "--json")...)
	if code != 0 {
		t.Fatalf("nullops %s: %d %s%s", strings.Join(args, " "), code, out, errs)
	}
	if err := json.Unmarshal([]byte(out), into); err != nil {
		t.Fatalf("nullops %s: %v: %s", strings.Join(args, " "), err, out)
	}
}
