package controlplane

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"
)

// VerdictID names a verdict.
type VerdictID string

// VerdictOutcome is what QA says of a deployment.
type VerdictOutcome string

// The outcomes. One with remarks has passed, and people should know something.
const (
	VerdictPassed  VerdictOutcome = "passed"
	VerdictFailed  VerdictOutcome = "failed"
	VerdictRemarks VerdictOutcome = "remarks"
)

// VerdictPredicate is the type of what a verdict's statement says: the result of a test.
const VerdictPredicate = "https://in-toto.io/attestation/test-result/v0.1"

// VerdictKey is a public key in PEM that verifies verdicts.
type VerdictKey struct {
	PublicKey string
	CreatedAt time.Time
	// EndedAt is when another one took its place; nil for the one that signs.
	EndedAt *time.Time
}

// Verdict is what QA says about the images that a deployment ran together.
type Verdict struct {
	ID         VerdictID
	Deployment DeploymentID
	Run        int
	Outcome    VerdictOutcome
	Remarks    string
	// DigestSet is the set of images that it is about; see the function of that name.
	DigestSet string
	// User is empty once the author was deleted; the name stays.
	User   UserID
	Author string
	At     time.Time
	// Bundle is the signed statement.
	Bundle []byte
	// Review and Commit are the pull request whose commit has the status; empty for none.
	Review ReviewID
	Commit string
	// VoidedAt is nil while it stands.
	VoidedAt     *time.Time
	VoidedReason string
	Images       []VerdictImage
}

// VerdictImage is an image that a verdict's statement is attached to in its registry.
type VerdictImage struct {
	Image, Digest string
	// AttachedAt is nil until it is attached.
	AttachedAt *time.Time
	// Problem says why it is not attached yet; empty before the first attempt.
	Problem string
}

// PendingAttachment is a statement that is to be attached to an image.
type PendingAttachment struct {
	Verdict       VerdictID
	Image, Digest string
	Attempts      int
	Bundle        []byte
	At            time.Time
}

// ImageReferences returns the images of versions, each once, as repository@digest.
func ImageReferences(versions []ServiceVersion) []string {
	var all []string
	for _, v := range versions {
		all = append(all, v.Image+"@"+v.Digest)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// DigestSet identifies the images that versions are, together: the SHA-256 of their references in
// order, one a line.
func DigestSet(versions []ServiceVersion) string {
	sum := sha256.Sum256([]byte(strings.Join(ImageReferences(versions), "\n") + "\n"))
	return hex.EncodeToString(sum[:])
}
