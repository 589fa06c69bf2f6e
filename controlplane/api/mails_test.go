package api_test

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/mails"
)

// mailNode is a node that caught one hostile mail.
type mailNode struct{}

const hostilePage = `<script>document.title = "hacked"</script>` +
	`<img src="https://evil.test/x.png">` +
	`<iframe src="https://a.evil.test"></iframe><FRAMESET><frame
	src="https://b.evil.test"></FRAMESET><link rel=preconnect href="//c.evil.test">` +
	`<meta name=referrer content=unsafe-url><object data="//d.evil.test"><embed src="//e.evil.test">`

// hostileNames are what attachments are called, in the order of their indexes.
var hostileNames = []string{`..\..\"a/b.html`, "bill\u202Efdp.exe", "..", "/", ".bashrc",
	"a\r\nSet-Cookie: x=1\r\n.txt", `quo"te;.txt`, "Grüße\u200F.pdf", "C:\\x\\", "\xff.txt"}

// ListMails implements mails.Nodes.
func (mailNode) ListMails(_ context.Context, _ controlplane.NodeID, _ controlplane.DeploymentID,
	q controlplane.MailQuery) (controlplane.MailList, error) {
	one := controlplane.MailSummary{Number: 1, From: "shop@example.com",
		To: []string{"ann@example.com"}, Subject: "Hello"}
	if q.Texts {
		one.Text = "its text"
	}
	return controlplane.MailList{State: controlplane.MailOn, Mails: 1, Last: 1,
		Items: []controlplane.MailSummary{one}}, nil
}

// GetMail implements mails.Nodes.
func (mailNode) GetMail(context.Context, controlplane.NodeID, controlplane.DeploymentID, int64) (
	controlplane.Mail, error) {
	return controlplane.Mail{MailSummary: controlplane.MailSummary{Number: 1}, HTML: hostilePage,
		Attachments: []controlplane.MailAttachment{{Name: "a.html", Type: "text/html"}}}, nil
}

// OpenMail implements mails.Nodes.
func (mailNode) OpenMail(_ context.Context, _ controlplane.NodeID, _ controlplane.DeploymentID,
	p mails.Part) (mails.Content, error) {
	return mails.Content{ReadCloser: io.NopCloser(strings.NewReader(hostilePage)),
		Name: hostileNames[p.Attachment]}, nil
}

// DeleteMails implements mails.Nodes.
func (mailNode) DeleteMails(context.Context, controlplane.NodeID, controlplane.DeploymentID,
	int64) error {
	return nil
}

// WatchMails implements mails.Nodes.
func (mailNode) WatchMails(ctx context.Context, _ controlplane.NodeID,
	_ controlplane.DeploymentID) (io.ReadCloser, error) {
	r, w := io.Pipe()
	go func() {
		_, err := io.WriteString(w, "1\n")
		<-ctx.Done()
		_ = w.CloseWithError(errors.Join(err, context.Cause(ctx)))
	}()
	return r, nil
}

// The HTML of a mail comes with headers that keep a browser from running or loading anything, and
// what is downloaded is never shown, whatever it says it is.
//
// promise: W-07
// threat: T55
func TestMails_AreHarmless(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	d, root := w.deploy("mailing"), w.token("root")
	base := "/api/v1/deployments/" + string(d.ID) + "/mails"
	page := w.call(http.MethodGet, base+"/1/page", root, nil)
	policy := page.header.Get("Content-Security-Policy")
	for _, rule := range []string{"sandbox allow-popups allow-popups-to-escape-sandbox;",
		"default-src 'none'", "img-src data:;", "form-action 'none'", "base-uri 'none'",
		"frame-ancestors 'self'"} {
		if !strings.Contains(policy, rule) {
			t.Errorf("the page's policy %q has no %q", policy, rule)
		}
	}
	if page.status != http.StatusOK || strings.Contains(policy, "script") ||
		page.header.Get("X-Content-Type-Options") != "nosniff" ||
		page.header.Get("X-Frame-Options") != "SAMEORIGIN" ||
		page.header.Get("Referrer-Policy") != "no-referrer" ||
		!strings.Contains(string(page.body), `<base target="_blank"><script>document.title`) {
		t.Errorf("the page is %d %v %s", page.status, page.header, page.body)
	}
	// A browser connects to the server of a frame before it finds that it may not load it.
	_, mail, _ := strings.Cut(strings.ToLower(string(page.body)), "<base")
	for _, tag := range []string{"link", "iframe", "frameset", "frame\n", "meta", "object", "embed"} {
		if strings.Contains(mail, "<"+tag) || !strings.Contains(mail, "<x-"+tag) {
			t.Errorf("the page has <%s: %s", tag, mail)
		}
	}
	for _, path := range []string{"/1/raw", "/1/attachments/0"} {
		file := w.call(http.MethodGet, base+path, root, nil)
		said := file.header.Get("Content-Disposition")
		if file.header.Get("Content-Type") != "application/octet-stream" ||
			!strings.HasPrefix(said, "attachment; filename=") || strings.ContainsAny(said, `/\`) {
			t.Errorf("%s is sent as %v", path, file.header)
		}
	}
	for index, want := range []string{"b.html", "billfdp.exe", "attachment", "attachment",
		"bashrc", "aSet-Cookie: x=1.txt", `quo"te;.txt`, "Grüße.pdf", "attachment", "\uFFFD.txt"} {
		file := w.call(http.MethodGet, base+"/1/attachments/"+strconv.Itoa(index), root, nil)
		kind, params, err := mime.ParseMediaType(file.header.Get("Content-Disposition"))
		if kind != "attachment" || params["filename"] != want || err != nil ||
			file.header.Get("Set-Cookie") != "" {
			t.Errorf("%q is sent as %v, %v", hostileNames[index], file.header, err)
		}
	}
	capsule := w.call(http.MethodGet, "/api/v1/deployments/"+string(d.ID)+"/capsule", root, nil)
	if !strings.Contains(string(capsule.body), `"text":"its text"`) {
		t.Errorf("the capsule has no mail: %s", capsule.body)
	}
}

// Who may read a deployment may read its mails, and who may change it may delete them. Each
// deletion is in the audit.
//
// promise: W-07
func TestMails_Rights(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	d := w.deploy("mailing")
	base := "/api/v1/deployments/" + string(d.ID) + "/mails"
	for who, want := range map[string][2]int{"stranger": {404, 404}, "reader": {200, 403},
		"root": {200, 204}} {
		token := w.token(who)
		if a := w.call(http.MethodGet, base+"/1", token, nil); a.status != want[0] {
			t.Errorf("%s reads: %d %s", who, a.status, a.body)
		}
		if a := w.call(http.MethodDelete, base, token, nil); a.status != want[1] {
			t.Errorf("%s deletes: %d %s", who, a.status, a.body)
		}
	}
	audit := w.call(http.MethodGet, "/api/v1/audit?action=delete+mails", w.token("root"), nil)
	if strings.Count(string(audit.body), `"delete mails"`) < 2 ||
		!strings.Contains(string(audit.body), "deployment mailing") {
		t.Errorf("the audit says %s", audit.body)
	}
}
