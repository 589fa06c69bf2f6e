package agent

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"time"

	"github.com/nullops/nullops/agent/mailbox"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/internal/mask"
)

const (
	// maxListedMails bounds one answer.
	maxListedMails = 500
	// changesPause is the shortest time between two lines about changes, and changesEvery the
	// longest: a caller that hung up is noticed.
	changesPause = 300 * time.Millisecond
	changesEvery = 20 * time.Second
	maskedPiece  = 32 << 10
	// maxListedText is how much of a mail's text a list has, in bytes.
	maxListedText = 4 << 10
)

// registerMails adds what is served of mails.
func (mc *mailCatcher) registerMails(mux *http.ServeMux) {
	mux.HandleFunc("GET "+wire.PathMails, mc.serveMails)
	mux.HandleFunc("DELETE "+wire.PathMails, mc.serveClearMails)
	mux.HandleFunc("GET "+wire.PathMailChanges, mc.serveMailChanges)
	mux.HandleFunc("GET "+wire.PathMail, mc.serveMail)
	mux.HandleFunc("DELETE "+wire.PathMail, mc.serveDeleteMail)
	mux.HandleFunc("GET "+wire.PathMailRaw, mc.serveMailRaw)
	mux.HandleFunc("GET "+wire.PathMailPage, mc.serveMailPage)
	mux.HandleFunc("GET "+wire.PathMailAttachment, mc.serveMailAttachment)
}

// requestedBox is the mailbox that a request is about.
type requestedBox struct {
	*mailbox.Box
	state wire.MailState
	mask  *mask.Masker
	// number is that of a mail, if the path has one.
	number int64
}

// findBox finds the mailbox of a request; if it cannot be read now, it writes the error response
// and returns false. Without a catcher there is no box.
func (mc *mailCatcher) findBox(w http.ResponseWriter, r *http.Request) (b requestedBox, ok bool) {
	v, ok := mc.viewOf(r.PathValue("id"))
	if !ok || v.goal == nil {
		http.Error(w, "no such deployment on this node", http.StatusNotFound)
		return b, false
	}
	if v.bundle == nil {
		// Mails cannot be masked with secrets that are not here.
		w.Header().Set("Retry-After", "2")
		http.Error(w, "the agent waits for the deployment's secrets", http.StatusServiceUnavailable)
		return b, false
	}
	b.state, b.mask = mc.stateOf(v), v.bundle.masker
	if mc.boxes == nil {
		return b, true
	}
	box, err := mc.boxes.Box(v.goal.Deployment)
	if err != nil {
		mc.failMails(w, r, err)
		return b, false
	}
	b.Box = box
	return b, true
}

// findMail is findBox for a request about one mail.
func (mc *mailCatcher) findMail(w http.ResponseWriter, r *http.Request) (b requestedBox, ok bool) {
	if b, ok = mc.findBox(w, r); !ok {
		return b, false
	}
	number, err := strconv.ParseInt(r.PathValue("number"), 10, 64)
	if b.Box == nil || err != nil {
		http.Error(w, mailbox.ErrNoMail.Error(), http.StatusNotFound)
		return b, false
	}
	b.number = number
	return b, true
}

func (mc *mailCatcher) failMails(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, mailbox.ErrNoMail) {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	mc.log.WarnContext(r.Context(), "mails cannot be read", "deployment_id", r.PathValue("id"),
		"error", err)
	http.Error(w, "the node cannot read its mails", http.StatusBadGateway)
}

func (mc *mailCatcher) serveMails(w http.ResponseWriter, r *http.Request) {
	b, ok := mc.findBox(w, r)
	if !ok {
		return
	}
	list := wire.MailList{State: b.state, Items: []wire.MailSummary{}}
	if b.Box == nil {
		answerJSON(w, list)
		return
	}
	found, more, err := b.List(mailQuery(r), b.mask.Mask)
	if err != nil {
		mc.failMails(w, r, err)
		return
	}
	for _, s := range found {
		one := wireSummary(s)
		if r.URL.Query().Has(wire.QueryMailTexts) {
			one.Text = b.beginOfText(s.Number)
		}
		list.Items = append(list.Items, one)
	}
	counts, limits := b.Counts(), mc.boxes.Limits()
	list.More, list.Mails, list.Bytes, list.Last = more, counts.Mails, counts.Bytes, counts.Last
	list.Dropped, list.Refused = counts.Dropped, counts.Refused
	list.MaxMails, list.MaxBytes, list.MaxMail = limits.Mails, limits.Bytes, limits.Mail
	answerJSON(w, list)
}

// beginOfText is what a list shows of a mail's text. A mail that was dropped meanwhile has none.
func (b requestedBox) beginOfText(number int64) string {
	m, err := b.Read(number)
	if err != nil {
		return ""
	}
	return cutText(b.mask.Mask(m.Text), maxListedText)
}

func mailQuery(r *http.Request) mailbox.Query {
	q := r.URL.Query()
	number := func(name string) int64 {
		n, _ := strconv.ParseInt(q.Get(name), 10, 64)
		return n
	}
	most := int(number(wire.QueryMailMost))
	if most <= 0 || most > maxListedMails {
		most = maxListedMails
	}
	return mailbox.Query{To: q.Get(wire.QueryMailTo), Subject: q.Get(wire.QueryMailSubject),
		Search: q.Get(wire.QueryMailSearch), After: number(wire.QueryMailAfter),
		Before: number(wire.QueryMailBefore), Most: most}
}

func wireSummary(s mailbox.Summary) wire.MailSummary {
	return wire.MailSummary{Number: s.Number, At: s.At, From: s.From, To: s.To, Subject: s.Subject,
		Sender: s.Sender, Recipients: s.Recipients, Bytes: s.Bytes}
}

func (mc *mailCatcher) serveMail(w http.ResponseWriter, r *http.Request) {
	b, ok := mc.findMail(w, r)
	if !ok {
		return
	}
	m, err := b.Read(b.number)
	if err != nil {
		mc.failMails(w, r, err)
		return
	}
	m.Mask(b.mask.Mask)
	out := wire.Mail{MailSummary: wireSummary(m.Summary), Peer: m.Peer, Helo: b.mask.Mask(m.Helo),
		Header: []wire.MailField{}, FullText: m.Text, HTML: m.HTML, Links: m.Links, Problems: m.Problems}
	for _, f := range m.Header {
		out.Header = append(out.Header, wire.MailField(f))
	}
	for _, a := range m.Attachments {
		out.Attachments = append(out.Attachments, wire.MailAttachment{Index: a.Index, Name: a.Name,
			Type: a.Type, Bytes: a.Bytes})
	}
	answerJSON(w, out)
}

func (mc *mailCatcher) serveMailPage(w http.ResponseWriter, r *http.Request) {
	b, ok := mc.findMail(w, r)
	if !ok {
		return
	}
	page, err := b.Page(b.number, b.mask.Mask)
	if err != nil {
		mc.failMails(w, r, err)
		return
	}
	_, _ = io.WriteString(w, page)
}

func (mc *mailCatcher) serveMailRaw(w http.ResponseWriter, r *http.Request) {
	b, ok := mc.findMail(w, r)
	if !ok {
		return
	}
	raw, err := b.Raw(b.number)
	if err != nil {
		mc.failMails(w, r, err)
		return
	}
	defer func() { _ = raw.Close() }()
	if err := copyMasked(w, raw, b.mask); err != nil {
		panic(http.ErrAbortHandler)
	}
}

func (mc *mailCatcher) serveMailAttachment(w http.ResponseWriter, r *http.Request) {
	b, ok := mc.findMail(w, r)
	if !ok {
		return
	}
	index, err := strconv.Atoi(r.PathValue("index"))
	begun := false
	if err == nil {
		err = b.Part(b.number, index, func(a mailbox.Attachment, content io.Reader) error {
			begun = true
			w.Header().Set("Content-Type", "application/octet-stream")
			w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment",
				map[string]string{"filename": b.mask.Mask(a.Name)}))
			// A damaged part is sent as far as it can be read.
			return copyMasked(w, content, b.mask)
		})
	} else {
		err = mailbox.ErrNoMail
	}
	if err != nil && !begun {
		mc.failMails(w, r, err)
	}
}

// copyMasked passes a stream on, with its secrets hidden.
func copyMasked(w io.Writer, from io.Reader, m *mask.Masker) error {
	stream := m.NewStream()
	piece := make([]byte, maskedPiece)
	for {
		n, err := from.Read(piece)
		shown := stream.Write(string(piece[:n]))
		if err != nil {
			shown += stream.Flush()
		}
		if _, failed := io.WriteString(w, shown); failed != nil {
			return failed
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read a mail: %w", err)
		}
	}
}

func (mc *mailCatcher) serveClearMails(w http.ResponseWriter, r *http.Request) {
	b, ok := mc.findBox(w, r)
	if !ok || b.Box == nil {
		return
	}
	if err := b.Clear(); err != nil {
		mc.failMails(w, r, err)
	}
}

func (mc *mailCatcher) serveDeleteMail(w http.ResponseWriter, r *http.Request) {
	b, ok := mc.findMail(w, r)
	if !ok {
		return
	}
	if err := b.Delete(b.number); err != nil {
		mc.failMails(w, r, err)
	}
}

// serveMailChanges sends a line at once and after each change. It ends with the mailbox.
func (mc *mailCatcher) serveMailChanges(w http.ResponseWriter, r *http.Request) {
	b, ok := mc.findBox(w, r)
	if !ok || b.Box == nil {
		return
	}
	out := http.NewResponseController(w)
	for {
		revision, next := b.Changes()
		if _, err := fmt.Fprintln(w, revision); err != nil || out.Flush() != nil {
			return
		}
		pause := time.NewTimer(changesEvery)
		select {
		case <-next:
		case <-pause.C:
			if _, known := mc.viewOf(r.PathValue("id")); !known {
				return
			}
		case <-r.Context().Done():
			return
		}
		pause.Stop()
		// A flood is told as one change.
		select {
		case <-time.After(changesPause):
		case <-r.Context().Done():
			return
		}
	}
}
