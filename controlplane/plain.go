package controlplane

import (
	"crypto/subtle"
	"fmt"
	"io"
	"log/slog"
)

// hidden is what every way of showing a secret yields.
const hidden = "[secret]"

// Plain is an opened secret. Printing, logging or marshaling it yields "[secret]". Only Reveal
// returns the value, so all uses are easy to find.
type Plain struct{ value string }

// NewPlain hides a value.
func NewPlain(value string) Plain { return Plain{value: value} }

// Reveal returns the value, for the code that must send it.
func (p Plain) Reveal() string { return p.value }

// IsEmpty reports whether there is no value.
func (p Plain) IsEmpty() bool { return p.value == "" }

// Equal compares two values in constant time.
func (p Plain) Equal(other Plain) bool {
	return subtle.ConstantTimeCompare([]byte(p.value), []byte(other.value)) == 1
}

// Format covers every verb: %v, %+v, %#v, %s, %q, %x.
func (p Plain) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, hidden) }

// String hides the value.
func (p Plain) String() string { return hidden }

// GoString hides the value.
func (p Plain) GoString() string { return hidden }

// MarshalJSON hides the value.
func (p Plain) MarshalJSON() ([]byte, error) { return []byte(`"` + hidden + `"`), nil }

// MarshalText hides the value, also as a map's key.
func (p Plain) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// LogValue hides the value from slog.
func (p Plain) LogValue() slog.Value { return slog.StringValue(hidden) }

// Sealed is a secret as the database holds it. It is useless without the master key and its
// location, but is still not printed.
type Sealed []byte

// String names it without showing it.
func (s Sealed) String() string { return "[sealed]" }

// Format covers every verb.
func (s Sealed) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "[sealed]") }

// MarshalJSON hides the bytes.
func (s Sealed) MarshalJSON() ([]byte, error) { return []byte(`"[sealed]"`), nil }

// LogValue hides the bytes from slog.
func (s Sealed) LogValue() slog.Value { return slog.StringValue("[sealed]") }
