package controlplane

import "time"

// MailState says whether the mails that a deployment sends are caught.
type MailState string

// The states. MailService: a step of the pipeline is called mail. MailOldRelay: the deployment was
// made by an agent that caught none. MailWaiting: it is on no node yet. MailGone: it was removed,
// and its mails with it.
const (
	MailOn          MailState = "on"
	MailOff         MailState = "off"
	MailService     MailState = "service"
	MailUnsupported MailState = "unsupported"
	MailOldRelay    MailState = "old_relay"
	MailWaiting     MailState = "waiting"
	MailGone        MailState = "gone"
)

// MailQuery chooses mails of a deployment. Its texts are looked for in any case of letters.
type MailQuery struct {
	To, Subject, Search string
	// After and Before are numbers of mails; 0 is no bound.
	After, Before int64
	Most          int
	// Texts asks for the beginning of each mail's text.
	Texts bool
}

// MailList is what a deployment's mailbox has, newest first.
type MailList struct {
	State MailState
	Items []MailSummary
	// More: there are older ones that the query takes.
	More bool
	// Mails and Bytes are all that is kept; Dropped made room for others, Refused were never stored.
	Mails            int
	Bytes            int64
	Dropped, Refused int64
	// Last is the highest number of a mail so far.
	Last int64
	// MaxMails, MaxBytes and MaxMail are the node's limits.
	MaxMails          int
	MaxBytes, MaxMail int64
}

// MailSummary is a mail in a list. From and To are what the application said when it sent the mail,
// Sender and Recipients are what the mail says.
type MailSummary struct {
	Number     int64
	At         time.Time
	From       string
	To         []string
	Subject    string
	Sender     string
	Recipients string
	Bytes      int64
	// Text is its beginning, if it was asked for.
	Text string
}

// Mail is one mail as people read it. Its HTML is as the application wrote it, and hostile.
type Mail struct {
	MailSummary
	Peer, Helo  string
	Header      []MailField
	FullText    string
	HTML        string
	Links       []string
	Attachments []MailAttachment
	// Problems are sentences about what cannot be shown.
	Problems []string
}

// MailField is one field of a mail's header.
type MailField struct {
	Name  string
	Value string
}

// MailAttachment is a part of a mail that is not shown as text.
type MailAttachment struct {
	Index int
	Name  string
	Type  string
	Bytes int64
}
