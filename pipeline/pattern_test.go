package pipeline_test

import (
	"strings"
	"testing"

	"github.com/nullops/nullops/pipeline"
)

func TestMatchTag(t *testing.T) {
	for _, c := range []struct {
		pattern, tag string
		want         bool
	}{
		{"", "anything", true},
		{"v*", "v1.2.3", true},
		{"v*", "latest", false},
		{"1.2.*", "1.2.9", true},
		{"1.2.*", "1.20.9", false},
		{"features/*", "features-login", true},
		{"features/*", "features_login", true},
		{"features/*", "features.login", true},
		{"features/*", "featuresxlogin", false},
		{"features/*", "main", false},
		{"v[0-9]", "v1", true},
		{"v[0-9]", "vx", false},
		{"?.0", "1.0", true},
		{`a\*`, "a*", true},
		{"abc", "abcd", false},
	} {
		got, err := pipeline.MatchTag(c.pattern, c.tag)
		if err != nil || got != c.want {
			t.Errorf("MatchTag(%q, %q) = %t, %v", c.pattern, c.tag, got, err)
		}
	}
}

// threat: T44
func TestCheckPattern(t *testing.T) {
	for _, bad := range []string{"[", `a\`, "[a/b]", "[]", strings.Repeat("a", 129), "a[", "*[z-a"} {
		if err := pipeline.CheckPattern(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func FuzzMatchTag(f *testing.F) {
	f.Add("features/*", "features-a")
	f.Add("[a-z", "b")
	f.Fuzz(func(t *testing.T, pattern, tag string) {
		_, matchErr := pipeline.MatchTag(pattern, tag)
		if checkErr := pipeline.CheckPattern(pattern); checkErr == nil && matchErr != nil {
			t.Fatalf("%q passed the check, then: %v", pattern, matchErr)
		}
	})
}
