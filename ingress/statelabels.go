package ingress

import (
	"crypto/rand"
	"encoding/hex"
	"unicode"
	"unicode/utf8"
)

// capitalize makes a label of a state's name.
func capitalize(state string) string {
	first, size := utf8.DecodeRuneInString(state)
	return string(unicode.ToUpper(first)) + state[size:]
}

// Label is the step's state for people, worded as in the UI so that they recognize it.
func (s Step) Label() string {
	switch s.Status {
	case StepPending:
		return "Waiting"
	case StepWaiting:
		return "Waiting for an answer"
	}
	return capitalize(string(s.Status))
}

// requestID identifies one response, so that a page that a user asks about can be found in
// the log.
func requestID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails: it ends the program instead
	return hex.EncodeToString(b[:])
}
