package controlplane

import (
	"time"

	"github.com/nullops/nullops/internal/text"
)

// PersonNoticeID names what one person is to read.
type PersonNoticeID string

// PersonNoticeKind is what a person's notice is about. The list is closed: the UI has a glyph and a
// word for each.
type PersonNoticeKind string

// The kinds.
const (
	// NoticeMention: a comment names the person; NoticeComment: one is on a deployment of theirs.
	NoticeMention PersonNoticeKind = "mention"
	NoticeComment PersonNoticeKind = "comment"
	// What happened to a deployment of theirs.
	NoticeFailed   PersonNoticeKind = "failed"
	NoticeStuck    PersonNoticeKind = "stuck"
	NoticeDegraded PersonNoticeKind = "degraded"
	NoticeExpiring PersonNoticeKind = "expiring"
	// NoticeAccessAsked reaches admins, NoticeAccessAnswered whoever asked.
	NoticeAccessAsked    PersonNoticeKind = "access_asked"
	NoticeAccessAnswered PersonNoticeKind = "access_answered"
	// NoticeAlert is trouble of the installation, for those who look after it, or of the person's own
	// account.
	NoticeAlert PersonNoticeKind = "alert"
)

// PersonNotice is something that concerns one person and waits until they have read it.
type PersonNotice struct {
	ID   PersonNoticeID
	User UserID
	Kind PersonNoticeKind
	// Deployment is set if it is about one: who may not see that any more does not see this either.
	Deployment DeploymentID
	// By is who caused it; empty for the product itself.
	By string
	// Subject is one sentence without a full stop, Body what somebody wrote or why it happened.
	Subject, Body string
	// Link is a path of the UI, or empty.
	Link   string
	At     time.Time
	ReadAt *time.Time
}

// The bounds of a notice's texts in bytes. Sentences of causes may be longer.
const (
	mostNoticeSubject = 300
	mostNoticeBody    = 2000
)

// Clipped returns the notice with texts as short as they are stored.
func (n PersonNotice) Clipped() PersonNotice {
	n.Subject = text.Clip(n.Subject, mostNoticeSubject)
	n.Body = text.Clip(n.Body, mostNoticeBody)
	return n
}
