package intoto

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"testing"
)

func newKey(t *testing.T) (*ecdsa.PrivateKey, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	return key, string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
}

// What was signed is read back with the key, and with no other key; a changed payload is refused.
func TestSign_IsVerifiedWithItsKeyOnly(t *testing.T) {
	key, public := newKey(t)
	_, other := newKey(t)
	b, err := Sign(key, Statement{Type: StatementType, PredicateType: "p",
		Subject:   []Subject{{Name: "shop/api", Digest: map[string]string{"sha256": "aa"}}},
		Predicate: map[string]string{"result": "PASSED"}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := Verify(public, b)
	if err != nil || s.Subject[0].Digest["sha256"] != "aa" ||
		string(s.Predicate.(json.RawMessage)) != `{"result":"PASSED"}` {
		t.Errorf("read back as %+v: %v", s, err)
	}
	if _, err := Verify(other, b); !errors.Is(err, ErrNotSigned) {
		t.Errorf("another key: %v", err)
	}
	var read bundle
	if err := json.Unmarshal(b, &read); err != nil {
		t.Fatal(err)
	}
	forged := bytes.Replace(read.Envelope.Payload, []byte("PASSED"), []byte("FAILED"), 1)
	changed := bytes.Replace(b, []byte(base64.StdEncoding.EncodeToString(read.Envelope.Payload)),
		[]byte(base64.StdEncoding.EncodeToString(forged)), 1)
	if bytes.Equal(b, changed) {
		t.Fatal("nothing was changed")
	}
	if _, err := Verify(public, changed); !errors.Is(err, ErrNotSigned) {
		t.Errorf("a changed statement: %v", err)
	}
}
