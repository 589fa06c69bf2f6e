package controlplane

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"time"
)

// AuditResult is how an attempt ended.
type AuditResult string

// The results.
const (
	AuditOK      AuditResult = "ok"
	AuditRefused AuditResult = "refused"
	AuditFailed  AuditResult = "failed"
)

// AuditEntry says who did what to what, from where, and how it ended. Entries
// are only ever added.
type AuditEntry struct {
	ID int64
	// Seq is the entry's place in the chain, without gaps; zero for an entry
	// from before there was a chain. Link is its keyed digest.
	Seq  int64
	Link AuditLink
	At   time.Time
	// Actor is a user's name or "system:task"; ActorID is empty for a system.
	Actor   string
	ActorID UserID
	// Action is verb and noun, such as "put service".
	Action string
	// Object names what it was done to, such as "service api".
	Object      string
	Project     ProjectID
	Environment EnvironmentID
	// From is the address the request came from.
	From      string
	RequestID string
	// Credential is the session or API token it was done with, by its name.
	Credential string
	Result     AuditResult
	// Detail is a code, a list of names, or what a changed definition was and is (see
	// DescribeChange); never a secret.
	Detail string
}

// AuditLink is what ties an entry to all entries before it. The zero link precedes the first entry.
type AuditLink [sha256.Size]byte

// AuditHead is the end of the chain as it was at some time.
type AuditHead struct {
	Seq  int64
	Link AuditLink
	At   time.Time
}

// IsSameLink reports whether place and link are the same, ignoring when they were read.
func (h AuditHead) IsSameLink(other AuditHead) bool {
	return h.Seq == other.Seq && h.Link.Equal(other.Link)
}

// AuditKey computes links. An attacker with the database but without the key can neither compute a
// link nor repair a chain after tampering.
type AuditKey struct{ secret [sha256.Size]byte }

// NewAuditKey makes a key of 32 random bytes; anything else is refused.
func NewAuditKey(secret []byte) (k AuditKey, ok bool) {
	return k, copy(k.secret[:], secret) == len(secret) && len(secret) == len(k.secret)
}

// String hides the key.
func (k AuditKey) String() string { return "[audit key]" }

// GoString hides the key.
func (k AuditKey) GoString() string { return "[audit key]" }

// LinkEntry is the digest of an entry that follows the entry with the link before.
// Each field is preceded by its length, so that no two entries are written the
// same. Times count to the microsecond, which is what the database keeps.
func (k AuditKey) LinkEntry(before AuditLink, e AuditEntry) AuditLink {
	parts := [][]byte{before[:], encodeInt64(e.Seq), encodeInt64(e.At.UnixMicro()),
		[]byte(e.Actor), []byte(e.ActorID), []byte(e.Action), []byte(e.Object),
		[]byte(e.Project), []byte(e.Environment), []byte(e.From), []byte(e.RequestID),
		[]byte(e.Result), []byte(e.Detail)}
	if e.Credential != "" {
		// Entries from before there was one were linked without.
		parts = append(parts, []byte(e.Credential))
	}
	return k.computeLink("entry", parts...)
}

// AuditCheckpoint marks where retention cut the chain off: everything up to and with Seq was
// deleted on purpose.
type AuditCheckpoint struct {
	Seq  int64
	Link AuditLink
	At   time.Time
	// Seal shows that a holder of the key made it.
	Seal AuditLink
}

// SealCheckpoint seals a checkpoint.
func (k AuditKey) SealCheckpoint(c AuditCheckpoint) AuditLink {
	return k.computeLink("checkpoint", c.Link[:], encodeInt64(c.Seq), encodeInt64(c.At.UnixMicro()))
}

func (k AuditKey) computeLink(kind string, parts ...[]byte) (link AuditLink) {
	mac := hmac.New(sha256.New, k.secret[:])
	for _, part := range append([][]byte{[]byte(kind)}, parts...) {
		mac.Write(encodeInt64(int64(len(part))))
		mac.Write(part)
	}
	return AuditLink(mac.Sum(nil))
}

// Equal compares in constant time.
func (l AuditLink) Equal(other AuditLink) bool { return hmac.Equal(l[:], other[:]) }

func encodeInt64(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }
