package mask

import (
	"encoding/hex"
	"fmt"
	"strings"
)

// maxShownBytes is how many bytes Node.js shows of a buffer.
const maxShownBytes = 50

// listedForms returns a secret as programs print its bytes one by one: a buffer of Node.js, a
// byte slice of Go, the bytes in a JSON document, and what hexdump and openssl print.
func listedForms(secret string) (all []string) {
	if len(secret) > maxWrapped {
		return nil
	}
	decimal, digits := make([]string, len(secret)), make([]string, len(secret))
	for i := range len(secret) {
		decimal[i] = fmt.Sprint(secret[i])
		digits[i] = hex.EncodeToString([]byte{secret[i]})
	}
	for _, between := range []string{" ", ",", ", "} {
		all = append(all, strings.Join(decimal, between))
	}
	for _, between := range []string{" ", ":", "-", ", 0x", ",0x", " 0x"} {
		form := strings.Join(digits, between)
		all = append(all, form)
		upper := strings.ReplaceAll(strings.ToUpper(form), "X", "x")
		if upper != form {
			all = append(all, upper)
		}
	}
	if len(secret) > maxShownBytes {
		all = append(all, strings.Join(digits[:maxShownBytes], " "))
	}
	return all
}

// latinForm returns a secret with one byte for each character up to U+00FF, as escape of
// JavaScript and repr of Python number them; ok is false if that is the secret itself.
func latinForm(secret string) (form string, ok bool) {
	var b strings.Builder
	for _, r := range secret {
		if r >= 0x80 && r <= 0xff {
			b.WriteByte(byte(r))
			ok = true
			continue
		}
		b.WriteRune(r)
	}
	return b.String(), ok && b.Len() >= minSecret
}

// printableForm returns a secret as quoted-printable writes it, in mails.
func printableForm(secret string) string {
	var b strings.Builder
	for i := range len(secret) {
		if c := secret[i]; c == '=' || c >= 0x7f || c < ' ' && c != '\t' {
			fmt.Fprintf(&b, "=%02X", c)
			continue
		}
		b.WriteByte(secret[i])
	}
	return b.String()
}
