package review

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nullops/nullops/controlplane"
)

const ruleSecret = "canary-rule-secret-8d21"

func hmacOf(key, text string) string {
	m := hmac.New(sha256.New, []byte(key))
	m.Write([]byte(text))
	return hex.EncodeToString(m.Sum(nil))
}

// signHeaders returns the headers that each code host sends with an event.
func signHeaders(source controlplane.ReviewSource, key, body string, at time.Time) http.Header {
	h := http.Header{}
	switch source {
	case controlplane.ReviewGitHub:
		h.Set("X-GitHub-Event", "pull_request")
		h.Set("X-Hub-Signature-256", "sha256="+hmacOf(key, body))
	case controlplane.ReviewGitea:
		h.Set("X-Gitea-Event", "pull_request")
		h.Set("X-Gitea-Signature", hmacOf(key, body))
	case controlplane.ReviewBitbucket:
		h.Set("X-Event-Key", "pullrequest:updated")
		h.Set("X-Hub-Signature", "sha256="+hmacOf(key, body))
	case controlplane.ReviewGitLab:
		h.Set("X-Gitlab-Token", key)
	case controlplane.ReviewRegistry:
		h.Set("Authorization", "Bearer "+key)
	case controlplane.ReviewGeneric:
		seconds := fmt.Sprint(at.Unix())
		h.Set("X-Nullops-Timestamp", seconds)
		h.Set("X-Nullops-Signature", "v1="+hmacOf(key, seconds+"."+body))
	}
	return h
}

var sources = []controlplane.ReviewSource{controlplane.ReviewGitHub, controlplane.ReviewGitea,
	controlplane.ReviewGitLab, controlplane.ReviewRegistry, controlplane.ReviewGeneric,
	controlplane.ReviewBitbucket}

// The vectors are of the documentation of GitHub and of another implementation.
func TestIsSigned_AcceptsTheVectors(t *testing.T) {
	t.Parallel()
	h := http.Header{}
	h.Set("X-Hub-Signature-256",
		"sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17")
	if !IsSigned(controlplane.ReviewGitHub, h, []byte("Hello, World!"),
		controlplane.NewPlain("It's a Secret to Everybody"), time.Now()) {
		t.Error("the signature of GitHub's documentation does not hold")
	}
}

// A signature holds for one key and, where there is an HMAC, for one body.
func TestIsSigned_HoldsForItsKeyAndBodyOnly(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		source := rapid.SampledFrom(sources).Draw(t, "source")
		key := rapid.StringMatching(`[a-z]{16,20}`).Draw(t, "key")
		other := rapid.StringMatching(`[a-z]{0,20}`).Draw(t, "other key")
		body, changed := rapid.String().Draw(t, "body"), rapid.String().Draw(t, "changed body")
		now := time.Unix(1_900_000_000, 0)
		holds := func(with, text string, as controlplane.ReviewSource) bool {
			return IsSigned(as, signHeaders(source, key, body, now), []byte(text),
				controlplane.NewPlain(with), now)
		}
		if !holds(key, body, source) {
			t.Fatal("the own signature does not hold")
		}
		if other != key && holds(other, body, source) {
			t.Fatalf("a signature with %q holds for %q", key, other)
		}
		hasMAC := source != controlplane.ReviewGitLab && source != controlplane.ReviewRegistry
		if hasMAC && changed != body && holds(key, changed, source) {
			t.Fatalf("a signature of %q holds for %q", body, changed)
		}
		for _, as := range append(sources, controlplane.ReviewSchedule, "") {
			if as != source && holds(key, body, as) {
				t.Fatalf("%s is accepted as %s", source, as)
			}
		}
	})
}

// Without a key nothing is signed, not even what was signed with the empty one.
func TestIsSigned_RefusesTheEmptyKeyAndNoHeaders(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, source := range sources {
		if IsSigned(source, signHeaders(source, "", "{}", now), []byte("{}"), controlplane.Plain{}, now) {
			t.Errorf("%s: the empty key signs", source)
		}
		if IsSigned(source, http.Header{}, []byte("{}"), controlplane.NewPlain(ruleSecret), now) {
			t.Errorf("%s: no header signs", source)
		}
	}
}

func TestIsSigned_GenericEventsAreFiveMinutesOldAtMost(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_900_000_000, 0)
	for age, want := range map[time.Duration]bool{0: true, oldest - time.Second: true,
		-oldest + time.Second: true, oldest: false, -oldest: false, 24 * time.Hour: false,
		24 * 36500 * time.Hour: false} {
		h := signHeaders(controlplane.ReviewGeneric, ruleSecret, "{}", now.Add(-age))
		got := IsSigned(controlplane.ReviewGeneric, h, []byte("{}"),
			controlplane.NewPlain(ruleSecret), now)
		if got != want {
			t.Errorf("an event that is %s old: %v", age, got)
		}
	}
	h := signHeaders(controlplane.ReviewGeneric, ruleSecret, "{}", now)
	h.Set("X-Nullops-Timestamp", strings.Repeat("9", 30))
	if IsSigned(controlplane.ReviewGeneric, h, []byte("{}"), controlplane.NewPlain(ruleSecret), now) {
		t.Error("a time that is no number is accepted")
	}
}
