package mask_test

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nullops/nullops/internal/mask"
)

// awkward is a secret that every encoder changes in another way.
const awkward = `pa/ss wörd+"x"&<y>'z%!(*)~\end`

// recorded are what programs in other languages make of it; none was made by Go.
var recorded = map[string]string{
	"JavaScript encodeURIComponent": `pa%2Fss%20w%C3%B6rd%2B%22x%22%26%3Cy%3E'z%25!(*)~%5Cend`,
	"JavaScript encodeURI":          `pa/ss%20w%C3%B6rd+%22x%22&%3Cy%3E'z%25!(*)~%5Cend`,
	"JavaScript URLSearchParams": `pa%2Fss+w%C3%B6rd%2B%22x%22%26%` +
		`3Cy%3E%27z%25%21%28*%29%7E%5Cend`,
	"lower-case percent": `pa%2fss%20w%c3%b6rd%2b%22x%22%26%3cy%3e%27z%25!(*)~%5cend`,
	"mixed-case percent": `pa%2Fss%20w%c3%B6rd%2B%22x%22%26%3Cy%3e'z%25!(*)~%5cend`,
	"every byte percent": `%70%61%2f%73%73%20%77%c3%b6%72%64%2b%22%78%22%26%3c%79%3e%27%7a%25%21` +
		`%28%2a%29%7e%5c%65%6e%64`,
	"Python quote": `pa/ss%20w%C3%B6rd%2B%22x%22%26%3Cy%3E%27z%25%21%28%2A%29~%5Cend`,
	"Python quote safe=''": `pa%2Fss%20w%C3%B6rd%2B%22x%22%26` +
		`%3Cy%3E%27z%25%21%28%2A%29~%5Cend`,
	"Python quote_plus":  `pa%2Fss+w%C3%B6rd%2B%22x%22%26%3Cy%3E%27z%25%21%28%2A%29~%5Cend`,
	"Python html.escape": `pa/ss wörd+&quot;x&quot;&amp;&lt;y&gt;&#x27;z%!(*)~\end`,
	"HTML decimal": `pa&#47;ss w&#246;rd+&#34;x&#34;&#3` +
		`8;&#60;y&#62;&#039;z%!(*)~&#92;end`,
	"HTML hexadecimal": `pa&#x2F;ss w&#xf6;rd+&#x22;x&#X22;&#x` +
		`26;&#x3c;y&#x3E;&#x27;z%!(*)~&#x5c;end`,
	"HTML of all kinds": `pa&sol;ss w&ouml;rd&#43;&quot;x&#34;&amp` +
		`;&lt;y&#x3e;&apos;z&percnt;!(*)~&bsol;end`,
	"JSON":                      `pa/ss wörd+\"x\"&<y>'z%!(*)~\\end`,
	"JSON with escaped slashes": `pa\/ss w\u00f6rd+\"x\"&<y>'z%!(*)~\\end`,
	"Python json.dumps":         `pa/ss w\u00f6rd+\"x\"&<y>'z%!(*)~\\end`,
	"JSON, upper-case escapes": `pa/ss w\u00F6rd\u002B\u0022x\u0022\u0` +
		`026\u003Cy\u003E\u0027z%!(*)~\u005Cend`,
	"JSON in JSON":         `pa/ss w\\u00f6rd+\\\"x\\\"&<y>'z%!(*)~\\\\end`,
	"JSON in JSON in JSON": `pa/ss w\\\\u00f6rd+\\\\\\\"x\\\\\\\"&<y>'z%!(*)~\\\\\\\\end`,
	"Python repr":          `pa/ss wörd+"x"&<y>\'z%!(*)~\\end`,
	"Python repr of bytes": `pa/ss w\xc3\xb6rd+"x"&<y>\'z%!(*)~\\end`,
	"JSON in a URL":        `pa/ss%20w%C3%B6rd%2B%5C%22x%5C%22%26%3Cy%3E'z%25!(*)~%5C%5Cend`,
	"a URL in HTML": `pa/ss%20w%C3%B6rd&#43;&quot;x&qu` +
		`ot;%26%3Cy%3E&#39;z%25!(*)~%5Cend`,
	"a URL in a URL": `pa%252Fss%2520w%25C3%25B6rd%252B%2522x%` +
		`2522%2526%253Cy%253E'z%2525!(*)~%255Cend`,
	"HTML in JSON": `pa/ss wörd+&quot;x&quot;&amp;&lt;y&gt;&#x27;z%!(*)~\\end`,
	"HTML in HTML": `pa/ss wörd+&amp;quot;x&amp;quot;&amp;am` +
		`p;&amp;lt;y&amp;gt;&amp;#x27;z%!(*)~\end`,
	"bash printf %q": `pa/ss w\303\266rd+"x"&<y>\'z%!(*)~\\end`,
	"Rust":           `pa/ss w\u{f6}rd+\"x\"&<y>\'z%!(*)~\\end`,
	"sh -x of bash":  `pa/ss wörd+"x"&<y>'\''z%!(*)~\end`,
	"sh -x of dash":  `pa/ss wörd+"x"&<y>'"'"'z%!(*)~\end`,
	"SQL":            `pa/ss wörd+"x"&<y>''z%!(*)~\end`,
	"CSV":            `pa/ss wörd+""x""&<y>'z%!(*)~\end`,
	"printf":         `pa/ss wörd+"x"&<y>'z%%!(*)~\end`,
	"SQL in JSON":    `pa/ss w\u00f6rd+\"x\"&<y>''z%!(*)~\\end`,
	"sh -x in JSON":  `pa/ss wörd+\"x\"&<y>'\\''z%!(*)~\\end`,
	"CSV in a URL":   `pa/ss%20w%C3%B6rd%2B%22%22x%22%22%26%3Cy%3E'z%25!(*)~%5Cend`,
	"shell":          `pa/ss\ wörd+\"x\"\&\<y\>\'z%\!\(\*\)~\\end`,
}

// What programs in other languages make of a secret is hidden, whole and wherever a
// piece ends; what stands around it is shown.
func TestMasker_HidesWhatOtherLanguagesEncode(t *testing.T) {
	m := mask.New([]string{awkward, "an-unrelated-one"})
	for name, form := range recorded {
		text, want := "GET /?token="+form+"; 200", "GET /?token=[secret]; 200"
		if got := m.Mask(text); got != want {
			t.Errorf("%s: %s", name, got)
		}
		for cut := range len(text) {
			s := m.NewStream()
			if got := s.Write(text[:cut]) + s.Write(text[cut:]) + s.Flush(); got != want {
				t.Fatalf("%s, cut at %d: %s", name, cut, got)
			}
		}
	}
}

// bytewise is a secret with a character of each size. What becomes of it was printed by node,
// python3 and openssl, or is written as their documents say.
const bytewise = "pa=ss wörd 😀 end"

var recordedBytewise = map[string]string{
	"JavaScript escape":    `pa%3Dss%20w%F6rd%20%uD83D%uDE00%20end`,
	"Python repr, Latin-1": `pa=ss w\xf6rd \U0001f600 end`,
	"Perl":                 `pa=ss w\x{f6}rd \x{1f600} end`,
	"quoted-printable":     `pa=3Dss w=C3=B6rd =F0=9F=98=80 end`,
	"a buffer of Node.js":  `70 61 3d 73 73 20 77 c3 b6 72 64 20 f0 9f 98 80 20 65 6e 64`,
	"openssl":              `70:61:3D:73:73:20:77:C3:B6:72:64:20:F0:9F:98:80:20:65:6E:64`,
	"a byte slice of Go": `112 97 61 115 115 32 119 195 182 114 100 32 240 159 ` +
		`152 128 32 101 110 100`,
	"a buffer in JSON": `112,97,61,115,115,32,119,195,182,114,100,32,240,159,` +
		`152,128,32,101,110,100`,
	"a list of Python": `112, 97, 61, 115, 115, 32, 119, 195, 182, 114, 100, 32, 240, 159, 152, ` +
		`128, 32, 101, 110, 100`,
	"a list of C": `70, 0x61, 0x3d, 0x73, 0x73, 0x20, 0x77, 0xc3, 0xb6, 0x72, 0x64, 0x20, 0xf0, ` +
		`0x9f, 0x98, 0x80, 0x20, 0x65, 0x6e, 0x64`,
}

func TestMasker_HidesSecretsByteByByte(t *testing.T) {
	m := mask.New([]string{bytewise})
	for name, form := range recordedBytewise {
		if got := m.Mask("<" + form + ">"); got != "<[secret]>" {
			t.Errorf("%s: %s", name, got)
		}
		for cut := range len(form) {
			s := m.NewStream()
			if got := s.Write(form[:cut]) + s.Write(form[cut:]) + s.Flush(); got != "[secret]" {
				t.Fatalf("%s, cut at %d: %s", name, cut, got)
			}
		}
	}
}

// A Docker configuration in base64 holds a sign-in in base64, and a URL or a document in
// base64 holds an escaped secret.
func TestMasker_HidesSecretsInBase64Twice(t *testing.T) {
	const secret = `Tr0ub4dor "&" 3/quartz`
	m := mask.New([]string{secret})
	encode := base64.StdEncoding.EncodeToString
	for before := range 4 {
		pad := strings.Repeat("u", before)
		for name, inner := range map[string]string{
			"base64":       encode([]byte(pad + ":" + secret)),
			"a URL":        pad + "Tr0ub4dor%20%22&%22%203%2Fquartz@host",
			"a form":       pad + "Tr0ub4dor+%22%26%22+3%2Fquartz&x=y",
			"JSON":         pad + `Tr0ub4dor \"&\" 3/quartz"}`,
			"hexadecimals": pad + hex.EncodeToString([]byte(secret)),
		} {
			text := encode([]byte(`{"auth":"` + inner + `"}`))
			shown, found := m.Mask(text), 0
			for part := range strings.SplitSeq(shown, mask.Placeholder) {
				found = max(found, len(part))
			}
			if !strings.Contains(shown, mask.Placeholder) || found > 40 {
				t.Errorf("%s behind %d bytes: %s", name, before, shown)
			}
		}
	}
}

// Programs break long encodings into lines, and logs are read line by line: each line that
// holds enough of a secret to be of use hides it, whatever stands before the secret.
func TestMasker_HidesWrappedEncodings(t *testing.T) {
	secrets := []string{"a-generated-secret-of-some-32-by", strings.Repeat("0123456789abcdefXY", 9)}
	m := mask.New(secrets)
	for _, secret := range secrets {
		for before := range 80 {
			text := strings.Repeat("p", before) + secret + "\n"
			for i, w := range []struct {
				encoded string
				width   int
			}{{base64.StdEncoding.EncodeToString([]byte(text)), 76},
				{base64.StdEncoding.EncodeToString([]byte(text)), 64},
				{hex.EncodeToString([]byte(text)), 60}} {
				if i > 0 && before > 0 {
					continue // known for a secret alone
				}
				if shown := unmaskedRun(m, w.encoded, w.width, secret); len(shown) > 7 {
					t.Fatalf("behind %d bytes, %d wide: %q", before, w.width, shown)
				}
			}
		}
	}
}

// unmaskedRun returns the longest part of a secret that lines of an encoding show.
func unmaskedRun(m *mask.Masker, encoded string, width int, secret string) (longest string) {
	for from := 0; from < len(encoded); from += width {
		line := encoded[from:min(from+width, len(encoded))]
		for shown := range strings.SplitSeq(m.Mask(line), mask.Placeholder) {
			for _, c := range []func(string) ([]byte, error){
				base64.RawStdEncoding.DecodeString, hex.DecodeString} {
				for skip := range min(4, len(shown)) {
					text, _ := c(strings.TrimRight(shown[skip:], "="))
					longest = longerOf(longest, commonPart(string(text), secret))
				}
			}
		}
	}
	return longest
}

func longerOf(a, b string) string {
	if len(b) > len(a) {
		return b
	}
	return a
}

// commonPart is the longest text that both hold.
func commonPart(a, b string) (longest string) {
	for from := range a {
		for to := from + len(longest) + 1; to <= len(a) && strings.Contains(b, a[from:to]); to++ {
			longest = a[from:to]
		}
	}
	return longest
}

// What a program takes out of a secret and prints by itself is hidden too; what a document
// says beside its secrets is not.
func TestMasker_HidesPartsOfSecrets(t *testing.T) {
	m := mask.New([]string{"postgres://shop:p%40ssw0rd-1@db:5432/shop?sslmode=disable",
		`{"type": "service_account", "user": "postgres", "private_key": "-----BEGIN KEY-----` +
			`\nMIIEvQIBADANBg\nZZZZ", "nested": {"tokens": ["t0k3n-of-a-list"]}, "pin": "12345678"}`},
		"abcd\nefgh12\n")
	for text, want := range map[string]string{
		"password p@ssw0rd-1 of shop":      "password [secret] of shop",
		"password p%40ssw0rd-1 of shop":    "password [secret] of shop",
		"postgres in a service_account":    "postgres in a service_account",
		"MIIEvQIBADANBg":                   "[secret]",
		"uses t0k3n-of-a-list, 12345678":   "uses [secret], 12345678",
		"first abcd, then efgh12, abc efg": "first [secret], then [secret], abc efg",
	} {
		if got := m.Mask(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}

// A long text goes out while it comes in, and a secret in it is masked in every encoding and at
// every position.
func TestStream_HidesEncodedSecretsInLongTexts(t *testing.T) {
	const plain = `pa/ss word+"x"&<y>'z%!(*)~\end`
	m := mask.New([]string{plain})
	form := `pa\\u002fss word\\u002B\\\"x\\\"\\u0026<y>'z%!(*)~\\\\end`
	for _, noise := range []string{"x", `\\`, `\"`, "%2", "%25", "&amp;", "+", "é"} {
		text := strings.Repeat(noise, 3000) + " " + form + " " + strings.Repeat(noise, 3000)
		s, shown := m.NewStream(), ""
		for at := 0; at < len(text); at += 97 {
			shown += s.Write(text[at:min(at+97, len(text))])
		}
		if len(shown) < len(text)/2 {
			t.Errorf("%q: of %d bytes %d were shown before the end", noise, len(text), len(shown))
		}
		shown += s.Flush()
		if want := strings.Replace(text, form, "[secret]", 1); shown != want {
			t.Errorf("%q: the text comes as %d bytes, not %d", noise, len(shown), len(want))
		}
	}
}

// escapers write one character in one of their ways.
var escapers = []func(t *rapid.T, r rune) string{
	func(t *rapid.T, r rune) string {
		if r == '%' || rapid.Bool().Draw(t, "percent") {
			var b strings.Builder
			for _, c := range []byte(string(r)) {
				fmt.Fprintf(&b, rapid.SampledFrom([]string{"%%%02x", "%%%02X"}).Draw(t, "case"), c)
			}
			return b.String()
		}
		return string(r)
	},
	func(t *rapid.T, r rune) string {
		if r == '&' || rapid.Bool().Draw(t, "entity") {
			return fmt.Sprintf(rapid.SampledFrom([]string{"&#%d;", "&#%04d;", "&#x%x;", "&#X%X;"}).
				Draw(t, "kind"), r)
		}
		return string(r)
	},
	func(t *rapid.T, r rune) string {
		if r == '"' || r == '\\' || rapid.Bool().Draw(t, "escape") {
			return fmt.Sprintf(rapid.SampledFrom([]string{`\u%04x`, `\u%04X`}).Draw(t, "case"), r)
		}
		return string(r)
	},
}

// Any mix of the ways to write a character, twice over, hides nothing from us.
func TestMasker_HidesAnyMixOfEscapes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[ -~äß€]{8,20}`).Draw(t, "secret")
		if strings.Contains("[secret]", secret) {
			return
		}
		form := secret
		for range rapid.IntRange(1, 2).Draw(t, "layers") {
			escaper := rapid.SampledFrom(escapers).Draw(t, "escaper")
			var b strings.Builder
			for _, r := range form {
				b.WriteString(escaper(t, r))
			}
			form = b.String()
		}
		text := "token <" + form + "> tail"
		if got := mask.New([]string{secret}).Mask(text); got != "token <[secret]> tail" {
			t.Fatalf("%q is shown as %q", text, got)
		}
	})
}

// A text that begins or ends inside a secret shows no part of it, however the part
// is written.
func TestMasker_HidesPartsAtCuts(t *testing.T) {
	m := mask.New([]string{awkward})
	for name, form := range recorded {
		for cut := len(form) / 2; cut < len(form)-6; cut++ {
			head := m.MaskPart("head "+form[:cut], false, true)
			tail := m.MaskPart(form[len(form)-cut:]+" tail", true, false)
			if head != "head [secret]" || tail != "[secret] tail" {
				t.Errorf("%s, cut at %d: %q and %q", name, cut, head, tail)
				break
			}
		}
	}
	if got := m.MaskPart("a pa/ is no secret", true, true); got != "a pa/ is no secret" {
		t.Errorf("harmless text is shown as %q", got)
	}
}

func BenchmarkMasker_Line(b *testing.B) {
	var secrets []string
	for i := range 20 {
		secrets = append(secrets, fmt.Sprintf("secret-%d-value/with+signs %d", i, i*i))
	}
	m := mask.New(secrets)
	for name, line := range map[string]string{
		"plain": strings.Repeat("an ordinary line of a log, ", 8),
		"json":  `{"level":"info","msg":"said \"hello\" to a\\b"}` + strings.Repeat(" x", 70),
		"url":   "GET /search?q=caf%C3%A9+au%20lait&lang=de " + strings.Repeat("x ", 70),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(line)))
			for b.Loop() {
				s := m.NewStream()
				_ = s.Write(line) + s.Flush()
			}
		})
	}
}
