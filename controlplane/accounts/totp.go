package accounts

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // RFC 6238's default, and all that most apps know.
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/nullops/nullops/controlplane"
)

// RFC 6238 as every authenticator app knows it: HMAC-SHA-1, six digits, thirty seconds.
const (
	totpPeriod = 30
	totpDigits = 6
	// totpDrift is how many steps an app's clock may be early or late.
	totpDrift = 1
	// totpSeed is RFC 4226's recommended length, 160 bits.
	totpSeed = 20
)

var totpText = base32.StdEncoding.WithPadding(base32.NoPadding)

// newSeed makes the seed of an authenticator app, in base32 as people type it.
func newSeed() controlplane.Plain {
	b := make([]byte, totpSeed)
	_, _ = rand.Read(b) // never fails: the process dies instead
	return controlplane.NewPlain(totpText.EncodeToString(b))
}

// totpStep is the time step that a code belongs to, among those around now. ok is false for a code
// of another time or seed.
func totpStep(seed controlplane.Plain, code string, now time.Time) (step int64, ok bool) {
	key, err := totpText.DecodeString(seed.Reveal())
	if err != nil {
		return 0, false
	}
	present := now.Unix() / totpPeriod
	for at := present - totpDrift; at <= present+totpDrift; at++ {
		// All of them are compared, so that the time says nothing.
		if sameHash([]byte(totpCode(key, at)), []byte(code)) {
			step, ok = at, true
		}
	}
	return step, ok
}

// totpCode is RFC 4226's HOTP of one time step.
func totpCode(key []byte, step int64) string {
	mac := hmac.New(sha1.New, key)
	_ = binary.Write(mac, binary.BigEndian, step)
	sum := mac.Sum(nil)
	at := sum[len(sum)-1] & 0xf
	number := binary.BigEndian.Uint32(sum[at:at+4]) & 0x7fffffff
	return fmt.Sprintf("%0*d", totpDigits, number%1_000_000)
}

// totpURI is what a QR code for an authenticator app says.
func totpURI(site, user string, seed controlplane.Plain) controlplane.Plain {
	label := url.PathEscape(site + ":" + user)
	return controlplane.NewPlain("otpauth://totp/" + label + "?" + url.Values{
		"secret": {seed.Reveal()}, "issuer": {site},
	}.Encode())
}

// isTOTP reports whether a code is of an authenticator app; all others are taken for recovery
// codes.
func isTOTP(code string) bool {
	return len(code) == totpDigits && strings.Trim(code, "0123456789") == ""
}

// cleanCode removes what people and password managers put between the characters of a code.
func cleanCode(code controlplane.Plain) string { return strings.ToLower(foldCode(code.Reveal())) }

// foldCode keeps the letters and digits of what a person typed or pasted, those of Asian keyboards,
// which are as wide as their signs, as the plain ones.
func foldCode(typed string) string {
	const wide, plain = 0xFF01, '!'
	return strings.Map(func(r rune) rune {
		if r >= wide && r <= wide+'~'-plain {
			r += plain - wide
		}
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return r
	}, typed)
}
