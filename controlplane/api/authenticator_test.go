package api_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"testing"
)

// authenticator is a passkey in software: one ES256 key that answers as WebAuthn says, and lies on
// request.
type authenticator struct {
	t       *testing.T
	key     *ecdsa.PrivateKey
	id      []byte
	user    []byte
	counter uint32
	// origin and site are what its browser says and hashes.
	origin, site string
	// unverified leaves out that it checked who uses it.
	unverified bool
}

func newAuthenticator(t *testing.T) *authenticator {
	t.Helper()
	id := make([]byte, 16)
	_, _ = rand.Read(id)
	return &authenticator{t: t, id: id, origin: "https://nullops.test", site: "nullops.test",
		key: must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)}
}

func base64url(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func (a *authenticator) clientData(kind string, options object) []byte {
	return must(json.Marshal(object{"type": kind, "challenge": options["challenge"],
		"origin": a.origin, "crossOrigin": false}))(a.t)
}

// data is the authenticator data: the site, flags, a counter, and what is attested.
func (a *authenticator) data(flags byte, attested []byte) []byte {
	if !a.unverified {
		flags |= 0x04
	}
	a.counter++
	site := sha256.Sum256([]byte(a.site))
	out := append(site[:], flags|0x01)
	return append(binary.BigEndian.AppendUint32(out, a.counter), attested...)
}

// create answers navigator.credentials.create.
func (a *authenticator) create(options object) object {
	a.t.Helper()
	user, _ := options["user"].(object)
	handle, _ := user["id"].(string)
	a.user = must(base64.RawURLEncoding.DecodeString(handle))(a.t)
	point := must(a.key.PublicKey.ECDH())(a.t).Bytes()
	// COSE: an EC2 key of P-256 for ES256.
	cose := append([]byte{0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20}, point[1:33]...)
	cose = append(append(cose, 0x22, 0x58, 0x20), point[33:]...)
	attested := append(make([]byte, 16), 0, byte(len(a.id)))
	data := a.data(0x40, append(append(attested, a.id...), cose...))
	// CBOR: {"fmt": "none", "attStmt": {}, "authData": data}.
	made := append([]byte("\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x58"), byte(len(data)))
	return object{"id": base64url(a.id), "rawId": base64url(a.id), "type": "public-key",
		"clientExtensionResults": object{}, "response": object{
			"clientDataJSON":    base64url(a.clientData("webauthn.create", options)),
			"attestationObject": base64url(append(made, data...))}}
}

// get answers navigator.credentials.get.
func (a *authenticator) get(options object) object {
	a.t.Helper()
	client, data := a.clientData("webauthn.get", options), a.data(0, nil)
	sum := sha256.Sum256(client)
	digest := sha256.Sum256(append(append([]byte{}, data...), sum[:]...))
	signature := must(ecdsa.SignASN1(rand.Reader, a.key, digest[:]))(a.t)
	return object{"id": base64url(a.id), "rawId": base64url(a.id), "type": "public-key",
		"clientExtensionResults": object{}, "response": object{
			"clientDataJSON": base64url(client), "authenticatorData": base64url(data),
			"signature": base64url(signature), "userHandle": base64url(a.user)}}
}
