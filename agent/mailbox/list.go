package mailbox

import (
	"errors"
	"strings"
)

// Query chooses mails. Its texts are looked for in any case of letters.
type Query struct {
	// To and Subject are parts of a recipient's address and of the subject.
	To, Subject string
	// Search is part of anything that people read of a mail.
	Search string
	// After and Before are numbers; 0 is no bound.
	After, Before int64
	// Most is how many mails are returned at most.
	Most int
}

// List returns mails, newest first, and whether there are more. mask hides secrets; what it hides
// is not found either.
func (b *Box) List(q Query, mask func(string) string) (all []Summary, more bool, err error) {
	for _, number := range b.listNumbers() {
		if q.Before != 0 && number >= q.Before {
			continue
		}
		if number <= q.After {
			break
		}
		s, err := b.readSummary(number, mask)
		if errors.Is(err, ErrNoMail) {
			// It was dropped in between.
			continue
		}
		if err != nil {
			return nil, false, err
		}
		if !b.matchesQuery(s, q, mask) {
			continue
		}
		if len(all) == q.Most {
			return all, true, nil
		}
		all = append(all, s)
	}
	return all, false, nil
}

// readSummary returns a list's entry. One whose file is damaged has nothing but its number.
func (b *Box) readSummary(number int64, mask func(string) string) (s Summary, err error) {
	s, mail, err := b.openFile(number)
	if errors.Is(err, ErrNoMail) {
		return s, err
	}
	if err != nil {
		return Summary{Number: number}, nil //nolint:nilerr // damaged by a loss of power
	}
	s.maskTexts(mask)
	return s, mail.Close()
}

// maskTexts hides secrets in what a list shows.
func (s *Summary) maskTexts(mask func(string) string) {
	s.Subject, s.Sender, s.Recipients = mask(s.Subject), mask(s.Sender), mask(s.Recipients)
	s.From = mask(s.From)
	for i := range s.To {
		s.To[i] = mask(s.To[i])
	}
}

// matchesQuery reports whether a query takes a mail. Its texts are read only if they have to be.
func (b *Box) matchesQuery(s Summary, q Query, mask func(string) string) bool {
	recipients := s.Recipients + "\n" + strings.Join(s.To, "\n")
	if !containsFold(recipients, q.To) || !containsFold(s.Subject, q.Subject) {
		return false
	}
	if containsFold(s.Subject+"\n"+s.Sender+"\n"+s.From+"\n"+recipients, q.Search) {
		return true
	}
	// One that was dropped meanwhile, or is damaged, has no text.
	m, err := b.Read(s.Number)
	return err == nil && containsFold(mask(m.Text+"\n"+m.HTML), q.Search)
}

// Mask hides secrets in everything that is read of a mail.
func (m *Message) Mask(mask func(string) string) {
	m.maskTexts(mask)
	m.Text, m.HTML = mask(m.Text), mask(m.HTML)
	for i := range m.Header {
		m.Header[i].Value = mask(m.Header[i].Value)
	}
	for i := range m.Links {
		m.Links[i] = mask(m.Links[i])
	}
	for i := range m.Attachments {
		m.Attachments[i].Name = mask(m.Attachments[i].Name)
	}
}

func containsFold(text, part string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(part))
}
