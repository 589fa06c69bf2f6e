package signing_test

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"strings"
	"testing"

	"github.com/nullops/nullops/internal/signing"
)

// A statement is believed only as it was signed, and only with the key that signed it.
func TestVerify_BelievesWhatTheKeySigned(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	other, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	hash, err := signing.HashProgram(strings.NewReader("a program"))
	if err != nil {
		t.Fatal(err)
	}
	want := signing.Statement{Release: "v1.2.3", Platform: "linux/arm64", SHA256: hash}
	file := signing.Sign(private, want)
	if got, err := signing.Verify(public, file); err != nil || got != want {
		t.Errorf("Verify: %+v, %v", got, err)
	}
	line, err := signing.ReadPublicKey(signing.FormatPublicKey(public))
	if err != nil || !line.Equal(public) {
		t.Errorf("the key in one line is read as %v, %v", line, err)
	}
	if _, err := signing.Verify(other, file); !errors.Is(err, signing.ErrNotSigned) {
		t.Errorf("with another key: %v", err)
	}
	for _, change := range [][2]string{{"v1.2.3", "v1.2.4"}, {"arm64", "amd64"}, {hash[:4], "0000"}} {
		changed := bytes.Replace(file, []byte(change[0]), []byte(change[1]), 1)
		if _, err := signing.Verify(public, changed); !errors.Is(err, signing.ErrNotSigned) {
			t.Errorf("with %s changed: %v", change[0], err)
		}
	}
	if _, err := signing.Verify(public, []byte("nonsense")); err == nil {
		t.Error("nonsense is believed")
	}
}
