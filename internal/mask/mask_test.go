package mask_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nullops/nullops/internal/mask"
)

// printedForms returns the ways in which programs print a secret between other text.
func printedForms(secret, before string) []string {
	inJSON, _ := json.Marshal(secret)
	all := []string{secret, url.QueryEscape(secret), url.PathEscape(secret),
		hex.EncodeToString([]byte(secret)), strings.ToUpper(hex.EncodeToString([]byte(secret))),
		strings.Trim(string(inJSON), `"`)}
	for _, e := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		encoded := e.EncodeToString([]byte(before + secret))
		// Only the characters that no other byte takes part in.
		from, to := (len(before)*8+5)/6, (len(before)+len(secret))*8/6
		all = append(all, encoded[from:to])
	}
	return all
}

// For any secret, context, encoding and split: the output never contains the secret, and everything
// else is unchanged.
func TestStream_HidesSecretsAcrossBorders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringN(8, 40, 60).Filter(func(s string) bool {
			return len(s) >= 8 && !strings.Contains("[secret]", s)
		}).Draw(t, "secret")
		before := rapid.SampledFrom([]string{"", "x", "xy"}).Draw(t, "before")
		form := rapid.SampledFrom(printedForms(secret, before)).Draw(t, "form")
		head := rapid.StringMatching(`[ -;]{0,20}`).Draw(t, "head")
		text := head + form + "~tail~"
		stream := mask.New([]string{secret, "unrelated-secret"}).NewStream()
		shown := ""
		for text != "" {
			n := rapid.IntRange(1, len(text)).Draw(t, "piece")
			shown += stream.Write(text[:n])
			text = text[n:]
		}
		shown += stream.Flush()
		if strings.Contains(shown, form) {
			t.Fatalf("%q is shown in %q", form, shown)
		}
		if !strings.HasSuffix(shown, "~tail~") && !strings.Contains(form+"~tail~", secret+"~") {
			t.Fatalf("harmless text was hidden: %q", shown)
		}
	})
}

func TestMasker_KnowsItsLimits(t *testing.T) {
	m := mask.New([]string{"short", "abcdefgh12345678", "12345678abcdefgh",
		"first line here\nsecond line here"})
	for in, want := range map[string]string{
		"short":                             "short",
		"<abcdefgh12345678abcdefgh>":        "<[secret]>",
		"x second line here y":              "x [secret] y",
		"abcdefgh1234567 almost":            "abcdefgh1234567 almost",
		"abcdefgh12345678 12345678abcdefgh": "[secret] [secret]",
	} {
		if got := m.Mask(in); got != want {
			t.Errorf("Mask(%q) = %q, want %q", in, got, want)
		}
	}
	m = mask.New([]string{"5432", "s3cr3t!"}, "v4lu&e", "abc")
	for in, want := range map[string]string{
		"port 5432, s3cr3t!":               "port 5432, s3cr3t!",
		"abc v4lu&e, v4lu%26e, v4lu&amp;e": "abc [secret], [secret], [secret]",
	} {
		if got := m.Mask(in); got != want {
			t.Errorf("Mask(%q) = %q, want %q", in, got, want)
		}
	}
	var none *mask.Masker
	if none.Mask("text") != "text" || none.NewStream().Write("text") != "text" {
		t.Error("no masker must hide nothing")
	}
}

func FuzzStream(f *testing.F) {
	f.Add("a secret-value b", 3, "secret-value")
	f.Fuzz(func(t *testing.T, text string, cut int, secret string) {
		if len(secret) < 8 || strings.Contains("[secret]", secret) {
			return
		}
		cut = min(max(cut, 0), len(text))
		m := mask.New([]string{secret})
		s := m.NewStream()
		shown := s.Write(text[:cut]) + s.Write(text[cut:]) + s.Flush()
		if shown != m.Mask(text) {
			t.Fatalf("in pieces %q, whole %q", shown, m.Mask(text))
		}
	})
}
