package review

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres"
)

// What the columns of a review hold.
const (
	maxKeyRepository = 250
	maxBranchKey     = 128
	// shortRepository leaves room for a branch and a hash within a key.
	shortRepository = 150
	maxBranch       = 250
)

// reviewKey identifies a review of a rule. It is readable; if it would be lossy or
// ambiguous, it contains a hash of the full identity.
func (e event) reviewKey() string {
	if !e.isKeyLossy() {
		return e.plainKey()
	}
	rest := "@" + clipText(e.branch, maxBranchKey)
	if e.number > 0 {
		rest = fmt.Sprintf("#%d", e.number)
	}
	return clipText(e.repository, shortRepository) + "~" + e.identityHash("")[:12] + rest
}

// plainKey is the key without a hash, and was the only one in older versions.
func (e event) plainKey() string {
	if e.number > 0 {
		return fmt.Sprintf("%s#%d", clipText(e.repository, maxKeyRepository), e.number)
	}
	return clipText(e.repository, shortRepository) + "@" + clipText(e.branch, maxBranchKey)
}

// isKeyLossy reports whether another repository or branch has the same plain
// key. "@" and "#" separate the parts of a key, so a repository may hold none.
func (e event) isKeyLossy() bool {
	if e.nameTaken || strings.ContainsAny(e.repository, "@#") {
		return true
	}
	if e.number > 0 {
		return clipText(e.repository, maxKeyRepository) != e.repository
	}
	return clipText(e.repository, shortRepository) != e.repository ||
		clipText(e.branch, maxBranchKey) != e.branch
}

// identityHash is of what identifies the pull request, branch or tag, unshortened.
func (e event) identityHash(rule controlplane.ReviewRuleID) string {
	branch := e.branch
	if e.number > 0 {
		branch = ""
	}
	text := fmt.Appendf(nil, "%s\x00%s\x00%d\x00%s", rule, e.repository, e.number, branch)
	if e.nameTaken {
		text = fmt.Appendf(text, "\x00%s", e.repositoryID)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// findReview loads the review that an event is about. The host's own id of the
// repository counts more than its name: names change, and are given to others.
func findReview(ctx context.Context, tx *postgres.Tx, rule controlplane.ReviewRule, e *event) (
	old controlplane.Review, known bool, err error) {
	if e.repositoryID == "" {
		return findByName(ctx, tx, rule, *e)
	}
	old, known, err = tx.Reviews().ByRepository(ctx, rule.ID, e.repositoryID, e.number)
	if err != nil || known {
		return old, known, err
	}
	old, known, err = findByName(ctx, tx, rule, *e)
	if known && old.RepositoryID != "" {
		e.nameTaken = true
		return controlplane.Review{}, false, err
	}
	return old, known, err
}

// findByName loads a review by the names that the event brings.
func findByName(ctx context.Context, tx *postgres.Tx, rule controlplane.ReviewRule, e event) (
	old controlplane.Review, known bool, err error) {
	if rule.Source == controlplane.ReviewRegistry {
		// The images of one revision are pushed to several repositories, and
		// belong into one deployment.
		return tx.Reviews().ByTag(ctx, rule.ID, clipText(e.branch, maxBranch))
	}
	old, known, err = tx.Reviews().ByKey(ctx, rule.ID, e.reviewKey())
	if err != nil || known || !e.isKeyLossy() {
		return old, known, err
	}
	// One that an older version stored. It may be of another branch or repository
	// with the same beginning, which a repository or branch that is stored shows.
	old, known, err = tx.Reviews().ByKey(ctx, rule.ID, e.plainKey())
	mine := old.Repository == "" && old.Number == e.number &&
		old.Branch == clipText(e.branch, maxBranch)
	if err != nil || !known || !mine {
		return controlplane.Review{}, false, err
	}
	return old, true, nil
}

// chooseName chooses a deployment name for a new review that no other review has. Names are
// shortened spellings, and rules share environments: where the plain name is taken, a hash of the
// review's identity is added. The caller's lock keeps others from choosing the same.
func chooseName(ctx context.Context, tx *postgres.Tx, rule controlplane.ReviewRule,
	e event) (string, error) {
	plain, hash := e.deploymentName(rule), e.identityHash(rule.ID)
	name := plain
	for _, digits := range []int{6, 12, 24} {
		free, err := tx.Reviews().IsNameFree(ctx, name)
		if err != nil || free {
			return name, err
		}
		most := controlplane.MaxName - 1 - digits
		name = strings.TrimRight(plain[:min(len(plain), most)], "-") + "-" + hash[:digits]
	}
	return name, nil
}

// deploymentName is the deployment's, if it is free: the rule's, and what tells its
// reviews apart.
func (e event) deploymentName(rule controlplane.ReviewRule) string {
	if e.number > 0 {
		return fmt.Sprintf("%s-%d", rule.Name, e.number)
	}
	return strings.Trim(clipText(rule.Name+"-"+nameOfBranch(e.branch), controlplane.MaxName), "-")
}

// normalizeBranch spells a branch as builds spell it in tags.
func normalizeBranch(branch string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
			strings.ContainsRune("._-", c) {
			return c
		}
		return '-'
	}, branch)
}
