package ingress

import (
	"crypto/rand"
	"encoding/hex"
	"unicode"
	"unicode/utf8"
)

// word is how people are told a state of a deployment or of a step: as the UI
// says it, so that both are known for the same.
func word(state string) string {
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
func (s Step) Word() string { return word(s.Status) }

// requestID names one answer, so that who asks about a page and who reads the
// log mean the same.
func requestID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails: it ends the program instead
	return hex.EncodeToString(b[:])
}
