package catalog

import (
	"regexp"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane"
)

// What a pattern makes is of its form, and never the same twice.
func TestDrawn_ByPattern(t *testing.T) {
	for pattern, form := range map[string]string{
		"LIC-[A-Z]{4}-[0-9]{12}":  `^LIC-[A-Z]{4}-[0-9]{12}$`,
		"[A-Za-z0-9_-]{20}":       `^[A-Za-z0-9_-]{20}$`,
		`\[x\]\{[a-f0-9]{12}\}\\`: `^\[x\]\{[a-f0-9]{12}\}\\$`,
		"a{3}[!-~]{8}":            `^aaa[!-~]{8}$`,
	} {
		seen := map[string]bool{}
		for range 20 {
			value, err := generateValue(controlplane.SecretRule{Pattern: pattern})
			if err != nil {
				t.Fatalf("%s: %v", pattern, err)
			}
			if !regexp.MustCompile(form).MatchString(value) {
				t.Errorf("%s made %q", pattern, value)
			}
			seen[value] = true
		}
		if len(seen) != 20 {
			t.Errorf("%s made the same secret twice", pattern)
		}
	}
}

// Each letter of a set comes up.
func TestDrawn_UsesTheWholeSet(t *testing.T) {
	value, err := generateValue(controlplane.SecretRule{Pattern: "[ab]{128}"})
	if err != nil || strings.Trim(value, "ab") != "" || !strings.Contains(value, "a") ||
		!strings.Contains(value, "b") {
		t.Errorf("made %q, %v", value, err)
	}
}

func TestParsePattern_Refuses(t *testing.T) {
	for pattern, says := range map[string]string{
		"":                       "1 to 256",
		strings.Repeat("a", 257): "1 to 256",
		"password":               "could be guessed: 0 bits",
		"[0-9]{14}":              "could be guessed: 47 bits",
		"[a-z]{129}":             "no number of times",
		"[a-z]{100}[a-z]{29}":    "makes 129 characters",
		"[a-z]{0}":               "no number of times",
		"[a-z]{3":                "no number of times",
		"[a-z":                   "has no ]",
		"[z-a]{20}":              "runs backwards",
		"[aa]{60}":               "twice",
		"[a-fc]{60}":             "twice",
		"[]{20}":                 "no characters",
		"a]":                     "stands alone",
		"{3}":                    "stands alone",
		"[a-z]{20} ":             "visible ASCII",
		"[ä]{20}":                "visible ASCII",
		`[a-z]{20}\`:             "visible ASCII",
	} {
		_, err := parsePattern(pattern)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, wanted %q", pattern, err, says)
		}
	}
}

func FuzzParsePattern(f *testing.F) {
	f.Add("LIC-[A-Z]{4}-[0-9]{12}")
	f.Add(`\[[!-~]{8}\]`)
	f.Fuzz(func(t *testing.T, pattern string) {
		parts, err := parsePattern(pattern)
		if err != nil {
			return
		}
		length := 0
		for _, p := range parts {
			length += p.times
		}
		value, err := generateValue(controlplane.SecretRule{Pattern: pattern})
		if err != nil || len(value) != length {
			t.Errorf("%q made %q of %d characters: %v", pattern, value, length, err)
		}
	})
}
