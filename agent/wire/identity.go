package wire

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"time"

	"github.com/nullops/nullops/internal/durable"
)

// Identity is one end's self-signed certificate with its private key. It
// prints as its thumbprint.
type Identity struct {
	leaf *x509.Certificate
	key  crypto.Signer
}

// The agent's files. The certificate is written last: it is the commit point.
const (
	certFile = "cert.pem"
	keyFile  = "key.pem"
)

// NewIdentity makes an ECDSA P-256 certificate whose subject is name. It never
// expires: its peers pin it, and a date would only make a node fail one day.
func NewIdentity(name string) (*Identity, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("make a serial number: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name},
		// A clock that starts in 1970 must not matter either.
		NotBefore: time.Unix(0, 0),
		// RFC 5280, 4.1.2.5: the date that means "no expiry".
		NotAfter:    time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make a certificate: %w", err)
	}
	return newIdentity(der, key)
}

func newIdentity(der []byte, key crypto.Signer) (*Identity, error) {
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("read certificate: %w", err)
	}
	public, ok := leaf.PublicKey.(interface{ Equal(crypto.PublicKey) bool })
	if !ok || !public.Equal(key.Public()) {
		return nil, errors.New("certificate and private key do not belong together")
	}
	err = leaf.CheckSignature(leaf.SignatureAlgorithm, leaf.RawTBSCertificate, leaf.Signature)
	if err != nil {
		return nil, errors.New("the certificate is damaged: it is not as its key signed it")
	}
	return &Identity{leaf: leaf, key: key}, nil
}

// ParseIdentity reads PEM blocks with one certificate and one PKCS #8 key, as Identity.PEM returns
// them.
func ParseIdentity(text []byte) (*Identity, error) {
	var der, key []byte
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		switch block.Type {
		case "CERTIFICATE":
			der = block.Bytes
		case "PRIVATE KEY":
			key = block.Bytes
		}
	}
	if der == nil {
		return nil, errors.New("read identity: no CERTIFICATE block in the PEM text")
	}
	if key == nil {
		return nil, errors.New("read identity: no PRIVATE KEY block (PKCS #8) in the PEM text")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(key)
	if err != nil {
		// The parser's words may quote the key's bytes.
		return nil, errors.New("read identity: the PRIVATE KEY block is damaged")
	}
	signer, ok := parsed.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("read identity: a %T cannot sign: use ECDSA or Ed25519", parsed)
	}
	return newIdentity(der, signer)
}

// LoadOrCreateIdentity keeps the agent's identity in dir, as cert.pem and
// key.pem, mode 0600. A damaged one is an error and never replaced: a new
// certificate makes the node untrusted, and that is for a person to decide.
func LoadOrCreateIdentity(dir string) (*Identity, error) {
	return LoadOrCreateIdentityOn(durable.OS{}, dir)
}

// LoadOrCreateIdentityOn is LoadOrCreateIdentity on another disk.
func LoadOrCreateIdentityOn(disk durable.FS, dir string) (*Identity, error) {
	cert, err := os.ReadFile(filepath.Join(dir, certFile))
	if errors.Is(err, fs.ErrNotExist) {
		return createIdentity(disk, dir)
	}
	if err != nil {
		return nil, fmt.Errorf("load identity: %w", err)
	}
	key, err := os.ReadFile(filepath.Join(dir, keyFile))
	if err != nil {
		return nil, fmt.Errorf("load identity: %w (restore %s, or remove %s too and approve "+
			"the new certificate in the UI)", err, keyFile, certFile)
	}
	id, err := ParseIdentity(append(cert, key...))
	if err != nil {
		return nil, fmt.Errorf("load identity from %s: %w (restore both files, or remove both "+
			"and approve the new certificate in the UI)", dir, err)
	}
	return id, nil
}

func createIdentity(disk durable.FS, dir string) (*Identity, error) {
	id, err := NewIdentity("nullops-agent")
	if err != nil {
		return nil, err
	}
	err = durable.MakeDir(disk, dir, 0o700)
	if err == nil {
		err = durable.WriteFile(disk, filepath.Join(dir, keyFile), id.keyPEM(), 0o600)
	}
	if err == nil {
		err = durable.WriteFile(disk, filepath.Join(dir, certFile), id.CertPEM(), 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("create identity: %w", err)
	}
	return id, nil
}

// Thumbprint is what the far end pins on the control plane's side.
func (i *Identity) Thumbprint() Thumbprint { return ThumbprintOf(i.leaf) }

// SPKI is what an agent's token pins.
func (i *Identity) SPKI() SPKI { return SPKIOf(i.leaf) }

// CertPEM is the public half.
func (i *Identity) CertPEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.leaf.Raw})
}

// PEM is certificate and private key, for sealing. ParseIdentity reads it.
func (i *Identity) PEM() []byte { return append(i.CertPEM(), i.keyPEM()...) }

func (i *Identity) keyPEM() []byte {
	der, err := x509.MarshalPKCS8PrivateKey(i.key)
	if err != nil {
		// Only a key type that newIdentity cannot have let in.
		panic("encode private key: " + err.Error())
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

func (i *Identity) tlsCertificate() tls.Certificate {
	return tls.Certificate{Certificate: [][]byte{i.leaf.Raw}, PrivateKey: i.key, Leaf: i.leaf}
}

func (i *Identity) String() string             { return "identity " + i.Thumbprint().String() }
func (i *Identity) GoString() string           { return i.String() }
func (i *Identity) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(i.String())) }
func (i *Identity) LogValue() slog.Value       { return slog.StringValue(i.String()) }
