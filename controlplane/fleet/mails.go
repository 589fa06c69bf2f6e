package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/mails"
)

var _ mails.Nodes = (*Dialer)(nil)

// mailListMost bounds what is read of a node's answer, in bytes.
const mailListMost = 16 << 20

// mailPath fills in one of wire's paths.
func mailPath(path string, id controlplane.DeploymentID, number int64, index int) string {
	return strings.NewReplacer("{id}", url.PathEscape(string(id)), "{number}",
		strconv.FormatInt(number, 10), "{index}", strconv.Itoa(index)).Replace(path)
}

// ListMails implements mails.Nodes.
func (d *Dialer) ListMails(ctx context.Context, node controlplane.NodeID,
	id controlplane.DeploymentID, q controlplane.MailQuery) (l controlplane.MailList, err error) {
	query := url.Values{wire.QueryMailTo: {q.To}, wire.QueryMailSubject: {q.Subject},
		wire.QueryMailSearch: {q.Search}, wire.QueryMailMost: {strconv.Itoa(q.Most)},
		wire.QueryMailAfter:  {strconv.FormatInt(q.After, 10)},
		wire.QueryMailBefore: {strconv.FormatInt(q.Before, 10)}}
	if q.Texts {
		query.Set(wire.QueryMailTexts, "1")
	}
	var said wire.MailList
	err = d.readMailJSON(ctx, node, mailPath(wire.PathMails, id, 0, 0)+"?"+query.Encode(), &said)
	if err != nil {
		return l, err
	}
	l = controlplane.MailList{State: controlplane.MailState(said.State), More: said.More,
		Mails: said.Mails, Bytes: said.Bytes, Dropped: said.Dropped, Refused: said.Refused,
		Last: said.Last, MaxMails: said.MaxMails, MaxBytes: said.MaxBytes, MaxMail: said.MaxMail}
	for _, s := range said.Items {
		l.Items = append(l.Items, controlplane.MailSummary(s))
	}
	return l, nil
}

// GetMail implements mails.Nodes.
func (d *Dialer) GetMail(ctx context.Context, node controlplane.NodeID,
	id controlplane.DeploymentID, number int64) (m controlplane.Mail, err error) {
	var said wire.Mail
	if err := d.readMailJSON(ctx, node, mailPath(wire.PathMail, id, number, 0), &said); err != nil {
		return m, err
	}
	m = controlplane.Mail{MailSummary: controlplane.MailSummary(said.MailSummary), Peer: said.Peer,
		Helo: said.Helo, FullText: said.FullText, HTML: said.HTML, Links: said.Links,
		Problems: said.Problems}
	for _, f := range said.Header {
		m.Header = append(m.Header, controlplane.MailField(f))
	}
	for _, a := range said.Attachments {
		m.Attachments = append(m.Attachments, controlplane.MailAttachment(a))
	}
	return m, nil
}

// OpenMail implements mails.Nodes.
func (d *Dialer) OpenMail(ctx context.Context, node controlplane.NodeID,
	id controlplane.DeploymentID, part mails.Part) (c mails.Content, err error) {
	path := wire.PathMailAttachment
	switch {
	case part.Page:
		path = wire.PathMailPage
	case part.Raw:
		path = wire.PathMailRaw
	}
	r, err := d.askMails(ctx, node, http.MethodGet,
		mailPath(path, id, part.Number, part.Attachment))
	if err != nil {
		return c, err
	}
	_, named, _ := mime.ParseMediaType(r.Header.Get("Content-Disposition"))
	return mails.Content{ReadCloser: r.Body, Name: named["filename"]}, nil
}

// WatchMails implements mails.Nodes.
func (d *Dialer) WatchMails(ctx context.Context, node controlplane.NodeID,
	id controlplane.DeploymentID) (io.ReadCloser, error) {
	r, err := d.askMails(ctx, node, http.MethodGet, mailPath(wire.PathMailChanges, id, 0, 0))
	if err != nil {
		return nil, err
	}
	return r.Body, nil
}

// DeleteMails implements mails.Nodes.
func (d *Dialer) DeleteMails(ctx context.Context, node controlplane.NodeID,
	id controlplane.DeploymentID, number int64) error {
	path := mailPath(wire.PathMail, id, number, 0)
	if number == 0 {
		path = mailPath(wire.PathMails, id, 0, 0)
	}
	r, err := d.askMails(ctx, node, http.MethodDelete, path)
	if err != nil {
		return err
	}
	return r.Body.Close()
}

func (d *Dialer) readMailJSON(
	ctx context.Context, node controlplane.NodeID, path string, into any,
) error {
	r, err := d.askMails(ctx, node, http.MethodGet, path)
	if err != nil {
		return err
	}
	defer func() { _ = r.Body.Close() }()
	if err := json.NewDecoder(io.LimitReader(r.Body, mailListMost)).Decode(into); err != nil {
		return fmt.Errorf("read a node's mails: %w", err)
	}
	return nil
}

// askMails makes one request on a connection of its own. The caller closes the answer's body.
func (d *Dialer) askMails(
	ctx context.Context, node controlplane.NodeID, method, path string,
) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://agent"+path, nil)
	if err != nil {
		return nil, fmt.Errorf("ask for mails: %w", err)
	}
	client := newOneShotClient(func(ctx context.Context) (net.Conn, error) {
		return d.Dial(ctx, node)
	})
	r, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask for mails: %w", err)
	}
	if r.StatusCode == http.StatusOK {
		return r, nil
	}
	defer func() { _ = r.Body.Close() }()
	why, _ := io.ReadAll(io.LimitReader(r.Body, 1<<10))
	said := strings.TrimSpace(string(why))
	if r.StatusCode == http.StatusNotFound {
		return nil, &controlplane.Error{Kind: controlplane.NotFound, Code: "no_mail",
			Message: "the node has no such mail: " + said,
			Remedy:  "List the mails again: the oldest make room for new ones."}
	}
	return nil, &controlplane.Error{Kind: controlplane.Unavailable, Code: "no_mails_now",
		Message: "the node cannot show mails now: " + said, Remedy: "Try again in a moment.",
		RetryAfter: 2 * time.Second}
}
