package accounts

import (
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
)

// The codes of RFC 6238, appendix B, in six digits.
func TestTOTPCode_IsTheStandard(t *testing.T) {
	t.Parallel()
	key := []byte("12345678901234567890")
	for at, want := range map[int64]string{59: "287082", 1111111109: "081804",
		1111111111: "050471", 1234567890: "005924", 2000000000: "279037", 20000000000: "353130"} {
		if got := totpCode(key, at/totpPeriod); got != want {
			t.Errorf("at %d: %s, want %s", at, got, want)
		}
	}
}

// Clocks that differ by up to one step are one app's; what is older is over.
func TestTOTPStep_AllowsOneStep(t *testing.T) {
	t.Parallel()
	seed, now := newSeed(), time.Unix(1_800_000_015, 0)
	key, err := totpText.DecodeString(seed.Reveal())
	if err != nil || len(key) != totpSeed {
		t.Fatal(err, len(key))
	}
	present := now.Unix() / totpPeriod
	for shift := int64(-3); shift <= 3; shift++ {
		step, ok := totpStep(seed, totpCode(key, present+shift), now)
		if inside := shift >= -1 && shift <= 1; ok != inside || ok && step != present+shift {
			t.Errorf("shifted by %d: %d %v", shift, step-present, ok)
		}
	}
	if _, ok := totpStep(controlplane.NewPlain("not base32!"), "123456", now); ok {
		t.Error("a broken seed has codes")
	}
}

// The code that a program shows is read as it was copied, or as a keyboard writes it.
func TestReadCode(t *testing.T) {
	t.Parallel()
	code := codeLetters[:codeLength]
	for _, typed := range []string{code, strings.ToLower(code), showCode(code) + "\n",
		" " + code + "\u00a0",
		strings.Map(func(r rune) rune { return r + 0xFEE0 }, code)} {
		if got := readCode(typed); got != code {
			t.Errorf("%q: %q", typed, got)
		}
	}
}

// What people and password managers put between the characters does not count.
func TestCleanCode(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{"123 456": "123456", " 123-456\t": "123456",
		"ABCD-efgh": "abcdefgh", "12 34\u00a056": "123456", "123456\r\n": "123456",
		"１２３　４５６": "123456", "ａｂＣＤ－ＥＦＧＨ": "abcdefgh", "\u200b123\u2009456\u200e": "123456",
		"abcd–efgh": "abcdefgh", "“123.456”": "123456"} {
		if got := cleanCode(controlplane.NewPlain(typed)); got != want {
			t.Errorf("%q: %q", typed, got)
		}
	}
}
