package review

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nullops/nullops/controlplane"
)

// drawEvent draws identities that look alike: the separators of keys, long beginnings, and
// spellings that become the same.
func drawEvent(t *rapid.T) event {
	part := rapid.SampledFrom([]string{"a", "A", "@", "#", "/", "~", "-", "_", ".", "1", "é", "\x01",
		strings.Repeat("l", 60)})
	text := rapid.Map(rapid.SliceOfN(part, 1, 6),
		func(s []string) string { return strings.Join(s, "") })
	return event{repository: text.Draw(t, "repository"), branch: text.Draw(t, "branch"),
		number: rapid.IntRange(0, 2).Draw(t, "number")}
}

func isSame(a, b event) bool {
	return a.repository == b.repository && a.number == b.number &&
		(a.number > 0 || a.branch == b.branch)
}

// Two pull requests never share a review, and one always finds its own.
func TestReviewKey_IsOneForEachIdentity(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawEvent(t), drawEvent(t)
		if rapid.Bool().Draw(t, "same repository") {
			b.repository = a.repository
		}
		if rapid.Bool().Draw(t, "same branch") {
			b.branch = a.branch
		}
		if (a.reviewKey() == b.reviewKey()) != isSame(a, b) {
			t.Fatalf("%+v and %+v have the keys %q and %q", a, b, a.reviewKey(), b.reviewKey())
		}
		if (a.identityHash("r") == b.identityHash("r")) != isSame(a, b) {
			t.Fatalf("%+v and %+v have the hashes %s and %s", a, b, a.identityHash("r"),
				b.identityHash("r"))
		}
		if a.identityHash("r") == a.identityHash("s") {
			t.Fatal("two rules have the same hash")
		}
	})
}

// A repository that took another's name has another key, and each id one of its own.
func TestReviewKey_DiffersWhenTheNameWasAnothers(t *testing.T) {
	t.Parallel()
	plain := event{repository: "acme/shop", number: 12, repositoryID: "1"}
	keys := map[string]bool{plain.reviewKey(): true}
	for _, id := range []string{"2", "3"} {
		e := event{repository: "acme/shop", number: 12, repositoryID: id, nameTaken: true}
		if keys[e.reviewKey()] {
			t.Errorf("repository %s has the key %s of another one", id, e.reviewKey())
		}
		keys[e.reviewKey()] = true
	}
}

func TestDeploymentName_IsAlwaysAName(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e := drawEvent(t)
		if rapid.Bool().Draw(t, "any branch") {
			e.branch = rapid.String().Draw(t, "branch")
		}
		rule := controlplane.ReviewRule{
			Name: rapid.StringMatching(`[a-z]([a-z-]{0,22}[a-z])?`).Draw(t, "rule")}
		name := e.deploymentName(rule)
		if err := controlplane.ValidName("name", name); err != nil || !strings.HasPrefix(name,
			rule.Name) {
			t.Fatalf("%+v is named %q: %v", e, name, err)
		}
	})
}
