package api

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/logbook"
	"github.com/nullops/nullops/controlplane/mails"
)

const (
	// A capsule has so many of a deployment's newest mails.
	capsuleMails = 20
	// mostMailPage bounds the HTML of a mail in bytes: a node sends less than half of that.
	mostMailPage = 16 << 20
)

// ListMails lists what a deployment sent.
func (s *server) ListMails(
	ctx context.Context, r ListMailsRequestObject,
) (ListMailsResponseObject, error) {
	id, err := deploymentID(r.Id)
	if err != nil {
		return nil, err
	}
	l, err := s.Mails.List(ctx, actorOf(ctx), id, controlplane.MailQuery{
		To: valueOr(r.Params.To, ""), Subject: valueOr(r.Params.Subject, ""),
		Search: valueOr(r.Params.Search, ""), After: valueOr(r.Params.After, 0),
		Before: valueOr(r.Params.Before, 0), Most: valueOr(r.Params.Limit, 100)})
	if err != nil {
		return nil, err
	}
	return ListMails200JSONResponse(toMailList(l)), nil
}

func toMailList(l controlplane.MailList) MailList {
	return MailList{State: MailListState(l.State), Items: convertAll(l.Items, toMailSummary),
		More: l.More, Mails: l.Mails, Bytes: l.Bytes, Dropped: l.Dropped, Refused: l.Refused,
		Last: l.Last, MaxMails: l.MaxMails, MaxBytes: l.MaxBytes, MaxMail: l.MaxMail}
}

func toMailSummary(m controlplane.MailSummary) MailSummary {
	return MailSummary{Number: m.Number, At: m.At, From: m.From, To: orEmpty(m.To),
		Subject: m.Subject, Sender: m.Sender, Recipients: m.Recipients, Bytes: m.Bytes,
		Text: ptrOrNil(m.Text)}
}

// GetMail reads one mail.
func (s *server) GetMail(
	ctx context.Context, r GetMailRequestObject,
) (GetMailResponseObject, error) {
	id, err := deploymentID(r.Id)
	if err != nil {
		return nil, err
	}
	m, err := s.Mails.Get(ctx, actorOf(ctx), id, r.Number)
	if err != nil {
		return nil, err
	}
	out := GetMail200JSONResponse{Number: m.Number, At: m.At, From: m.From, To: orEmpty(m.To),
		Subject: m.Subject, Sender: m.Sender, Recipients: m.Recipients, Bytes: m.Bytes,
		Peer: ptrOrNil(m.Peer), Helo: ptrOrNil(m.Helo), Text: m.FullText, Html: m.HTML,
		Links: orEmpty(m.Links), Problems: orEmpty(m.Problems)}
	out.Header = convertAll(m.Header, func(f controlplane.MailField) MailField {
		return MailField{Name: f.Name, Value: f.Value}
	})
	out.Attachments = convertAll(m.Attachments, func(a controlplane.MailAttachment) MailAttachment {
		return MailAttachment{Index: a.Index, Name: a.Name, Type: a.Type, Bytes: a.Bytes}
	})
	return out, nil
}

// DeleteMail deletes one mail.
func (s *server) DeleteMail(
	ctx context.Context, r DeleteMailRequestObject,
) (DeleteMailResponseObject, error) {
	id, err := deploymentID(r.Id)
	if err != nil {
		return nil, err
	}
	if err := s.Mails.Delete(ctx, actorOf(ctx), id, r.Number); err != nil {
		return nil, err
	}
	return DeleteMail204Response{}, nil
}

// ClearMails deletes all mails of a deployment.
func (s *server) ClearMails(
	ctx context.Context, r ClearMailsRequestObject,
) (ClearMailsResponseObject, error) {
	id, err := deploymentID(r.Id)
	if err != nil {
		return nil, err
	}
	if err := s.Mails.Delete(ctx, actorOf(ctx), id, 0); err != nil {
		return nil, err
	}
	return ClearMails204Response{}, nil
}

// openMail opens a part of a mail.
func (s *server) openMail(ctx context.Context, deployment string, p mails.Part) (
	c mails.Content, err error) {
	id, err := deploymentID(deployment)
	if err != nil {
		return c, err
	}
	return s.Mails.Open(ctx, actorOf(ctx), id, p)
}

// GetMailPage returns the HTML of a mail.
func (s *server) GetMailPage(
	ctx context.Context, r GetMailPageRequestObject,
) (GetMailPageResponseObject, error) {
	c, err := s.openMail(ctx, r.Id, mails.Part{Number: r.Number, Page: true})
	return mailPage{c}, err
}

// DownloadMail returns a mail as it came.
func (s *server) DownloadMail(
	ctx context.Context, r DownloadMailRequestObject,
) (DownloadMailResponseObject, error) {
	c, err := s.openMail(ctx, r.Id, mails.Part{Number: r.Number, Raw: true})
	c.Name = fmt.Sprintf("mail-%d.eml", r.Number)
	return mailDownload{c}, err
}

// DownloadMailAttachment returns an attachment.
func (s *server) DownloadMailAttachment(
	ctx context.Context, r DownloadMailAttachmentRequestObject,
) (DownloadMailAttachmentResponseObject, error) {
	c, err := s.openMail(ctx, r.Id, mails.Part{Number: r.Number, Attachment: r.Index})
	return mailDownload{c}, err
}

// mailPolicy lets a browser show a mail, and nothing else: no script, no form, nothing that is
// loaded from anywhere. A link opens in a page of its own. docs/threats.md
const mailPolicy = "sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'; " +
	"img-src data:; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'; " +
	"frame-ancestors 'self'"

// mailPage is a mail's HTML as an answer.
type mailPage struct{ mails.Content }

// VisitGetMailPageResponse implements GetMailPageResponseObject.
func (p mailPage) VisitGetMailPageResponse(w http.ResponseWriter) error {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", mailPolicy)
	h.Set("X-Frame-Options", "SAMEORIGIN")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-DNS-Prefetch-Control", "off")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	html, err := io.ReadAll(io.LimitReader(p, mostMailPage))
	if err != nil {
		_ = p.Close()
		panic(http.ErrAbortHandler)
	}
	// Before the mail's own HTML, so that its links leave the frame.
	begin := `<!doctype html><meta charset="utf-8"><base target="_blank">`
	return copyMail(w, io.MultiReader(strings.NewReader(begin),
		bytes.NewReader(disarmPage(html))), p)
}

// loadingTag begins an element that makes a browser connect to another server, or look up its name,
// although the policy forbids to load anything from there: a frame's page is refused only once
// there is a connection. <meta> could say for the links what the answer's headers forbid.
var loadingTag = regexp.MustCompile(
	`(?i)<(/?)(link|i?frame|frameset|fencedframe|portal|object|embed|meta)\b`)

// disarmPage renames such elements to ones that no browser knows. It looks at bytes alone and not
// at what they mean where they are: no two readers of broken HTML agree about that.
func disarmPage(html []byte) []byte {
	return loadingTag.ReplaceAll(html, []byte("<${1}x-$2"))
}

// mailDownload is a part of a mail as a file. No browser shows it, whatever its type says.
type mailDownload struct{ mails.Content }

// VisitDownloadMailResponse implements DownloadMailResponseObject.
func (d mailDownload) VisitDownloadMailResponse(w http.ResponseWriter) error {
	return d.sendFile(w)
}

// VisitDownloadMailAttachmentResponse implements DownloadMailAttachmentResponseObject.
func (d mailDownload) VisitDownloadMailAttachmentResponse(w http.ResponseWriter) error {
	return d.sendFile(w)
}

func (d mailDownload) sendFile(w http.ResponseWriter) error {
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", mime.FormatMediaType("attachment",
		map[string]string{"filename": fileName(d.Name)}))
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	return copyMail(w, d, d)
}

// fileName is an attachment's name without folders, and without what hides a file or turns the
// direction of text, which makes exe.pdf of fdp.exe. Nodes of earlier releases left more of it.
func fileName(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, "\uFFFD"))
	name = strings.Trim(name[strings.LastIndexAny(name, `/\`)+1:], ". ")
	if name == "" {
		return "attachment"
	}
	return name
}

// copyMail sends content. If reading it fails the connection is closed, so that no client takes a
// part for the whole.
func copyMail(w io.Writer, content io.Reader, end io.Closer) error {
	_, err := io.Copy(w, content)
	if err = errors.Join(err, end.Close()); err != nil {
		panic(http.ErrAbortHandler)
	}
	return nil
}

// StreamMails tells of changes of a deployment's mails.
func (s *server) StreamMails(
	ctx context.Context, r StreamMailsRequestObject,
) (StreamMailsResponseObject, error) {
	id, err := deploymentID(r.Id)
	if err != nil {
		return nil, err
	}
	lines, err := s.Mails.Watch(ctx, actorOf(ctx), id)
	if err != nil {
		return nil, err
	}
	return stream{log: s.Log, ctx: ctx, run: func(ctx context.Context, out *sse) error {
		return s.tellMailChanges(ctx, out, id, lines)
	}}, nil
}

// tellMailChanges sends an event for each line of the node, until the caller may listen no longer.
func (s *server) tellMailChanges(ctx context.Context, out *sse, id controlplane.DeploymentID,
	lines io.ReadCloser) error {
	changed := make(chan struct{})
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	context.AfterFunc(ctx, func() { _ = lines.Close() })
	go func() {
		defer close(changed)
		for in := bufio.NewScanner(lines); in.Scan(); {
			select {
			case changed <- struct{}{}:
			case <-ctx.Done():
				return
			}
		}
	}()
	touched, stop := s.Subscribe("", controlplane.TopicAccess)
	defer stop()
	check := time.NewTicker(checkEvery)
	defer check.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-touched:
			err = s.mayStill(ctx, id)
		case now := <-check.C:
			err = errors.Join(s.mayStill(ctx, id), out.sendHeartbeat(now))
		case _, more := <-changed:
			if !more {
				problem, _ := logbook.NodeLogError(io.ErrUnexpectedEOF)
				problem.Message = "the node does not tell of mails any more"
				return s.sendLogError(ctx, out, problem)
			}
			err = errors.Join(out.addEvent("changed", "", struct{}{}), out.flush())
		}
		if err != nil {
			return err
		}
	}
}

// addMails adds a deployment's newest mails to its capsule, unless its node cannot be asked.
func (s *server) addMails(ctx context.Context, id controlplane.DeploymentID, to *Capsule) {
	if s.Mails == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, capsuleWithin)
	defer cancel()
	l, err := s.Mails.List(ctx, actorOf(ctx), id,
		controlplane.MailQuery{Most: capsuleMails, Texts: true})
	if err == nil && len(l.Items) > 0 {
		to.Mails = new(toMailList(l))
	}
}
