package ingress

import (
	"crypto/rand"
	"encoding/hex"
	"unicode"
	"unicode/utf8"
)

// stateLabel is the label of a state of a deployment or step, worded as in the UI so that
// people recognize it.
func stateLabel(state string) string {
	switch state {
	case "pending":
		return "Waiting"
	case "waiting":
		return "Waiting for an answer"
	}
	first, size := utf8.DecodeRuneInString(state)
	return string(unicode.ToUpper(first)) + state[size:]
}

// Word is the step's state for people.
func (s Step) Word() string { return stateLabel(s.Status) }

// requestID identifies one response, so that a page that a user asks about can be found in
// the log.
func requestID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails: it ends the program instead
	return hex.EncodeToString(b[:])
}
