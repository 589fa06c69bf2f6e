package wire

import "time"

// Paths for the mails that a deployment sent and its node caught. GET PathMails returns MailList,
// chosen by the Query… parameters; DELETE removes all. GET PathMailChanges sends a line at once and
// one after each change, until the caller hangs up. GET PathMail returns Mail, DELETE removes it;
// the others return its raw text, its HTML with its own images in it, and one attachment.
const (
	PathMails          = "/v1/deployments/{id}/mails"
	PathMailChanges    = "/v1/deployments/{id}/mails/changes"
	PathMail           = "/v1/deployments/{id}/mails/{number}"
	PathMailRaw        = "/v1/deployments/{id}/mails/{number}/raw"
	PathMailPage       = "/v1/deployments/{id}/mails/{number}/page"
	PathMailAttachment = "/v1/deployments/{id}/mails/{number}/attachments/{index}"

	QueryMailTo      = "to"
	QueryMailSubject = "subject"
	QueryMailSearch  = "search"
	QueryMailAfter   = "after"
	QueryMailBefore  = "before"
	QueryMailMost    = "most"
	// QueryMailTexts asks for the beginning of each mail's text.
	QueryMailTexts = "texts"
)

// MailState says whether the mails of a deployment are caught.
type MailState string

// The states. MailService: a step of the pipeline has the name mail, so that mails go there.
// MailOldRelay: the relay was made by an earlier release.
const (
	MailOn          MailState = "on"
	MailOff         MailState = "off"
	MailService     MailState = "service"
	MailUnsupported MailState = "unsupported"
	MailOldRelay    MailState = "old_relay"
)

// MailList is what is in a mailbox.
type MailList struct {
	State MailState     `json:"state"`
	Items []MailSummary `json:"items"`
	More  bool          `json:"more,omitempty"`
	// Mails and Bytes are all that is kept; Dropped made room for others, Refused were never stored.
	Mails   int   `json:"mails"`
	Bytes   int64 `json:"bytes"`
	Dropped int64 `json:"dropped,omitempty"`
	Refused int64 `json:"refused,omitempty"`
	// Last is the highest number of a mail so far.
	Last int64 `json:"last"`
	// MaxMails, MaxBytes and MaxMail are the limits.
	MaxMails int   `json:"max_mails"`
	MaxBytes int64 `json:"max_bytes"`
	MaxMail  int64 `json:"max_mail"`
}

// MailSummary is a mail in a list. From and To are what the application said when it sent the mail,
// Sender and Recipients are what the mail says.
type MailSummary struct {
	Number     int64     `json:"number"`
	At         time.Time `json:"at"`
	From       string    `json:"from"`
	To         []string  `json:"to"`
	Subject    string    `json:"subject"`
	Sender     string    `json:"sender"`
	Recipients string    `json:"recipients"`
	Bytes      int64     `json:"bytes"`
	// Text is the beginning of the text, if it was asked for.
	Text string `json:"text,omitempty"`
}

// Mail is one mail as people read it. Its HTML is as the application wrote it.
type Mail struct {
	MailSummary
	Peer        string           `json:"peer,omitempty"`
	Helo        string           `json:"helo,omitempty"`
	Header      []MailField      `json:"header"`
	FullText    string           `json:"full_text,omitempty"`
	HTML        string           `json:"html,omitempty"`
	Links       []string         `json:"links,omitempty"`
	Attachments []MailAttachment `json:"attachments,omitempty"`
	Problems    []string         `json:"problems,omitempty"`
}

// MailField is one field of a mail's header.
type MailField struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// MailAttachment is a part of a mail that is not shown as text.
type MailAttachment struct {
	Index int    `json:"index"`
	Name  string `json:"name,omitempty"`
	Type  string `json:"type"`
	Bytes int64  `json:"bytes"`
}
