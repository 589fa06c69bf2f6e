package wire_test

import (
	"crypto/sha256"
	"encoding/json"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/agent/wire/wiretest"
)

func TestLoadOrCreateIdentity_KeepsItsThumbprint(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	first, err := wire.LoadOrCreateIdentity(dir)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "cert.pem"))
	if err != nil {
		t.Fatal(err) // promise: N-203
	}
	block, _ := pem.Decode(text)
	if wire.Thumbprint(sha256.Sum256(block.Bytes)) != first.Thumbprint() {
		t.Error("the thumbprint is not SHA-256 of the certificate's DER")
	}
	again, err := wire.LoadOrCreateIdentity(dir)
	if err != nil {
		t.Fatal(err)
	}
	if again.Thumbprint() != first.Thumbprint() { // promise: N-204
		t.Error("the thumbprint changed over a restart")
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("the folder holds %v, %v", entries, err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v, %v", e.Name(), info.Mode(), err)
		}
	}
}

// A crash between the two writes leaves a key without a certificate: that is
// no identity yet.
func TestLoadOrCreateIdentity_FinishesAnInterruptedStart(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "key.pem"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := wire.LoadOrCreateIdentity(dir); err != nil {
		t.Fatal(err)
	}
}

func TestLoadOrCreateIdentity_NeverReplacesADamagedOne(t *testing.T) {
	for name, damage := range map[string]func(dir string) error{
		"key lost": func(dir string) error { return os.Remove(filepath.Join(dir, "key.pem")) },
		"key empty": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "key.pem"), nil, 0o600)
		},
		"certificate garbage": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "cert.pem"), []byte("\x00junk"), 0o600)
		},
		"key of another": func(dir string) error {
			other := wiretest.NewIdentity(t)
			_, key, _ := strings.Cut(string(other.PEM()), "-----END CERTIFICATE-----\n")
			return os.WriteFile(filepath.Join(dir, "key.pem"), []byte(key), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if _, err := wire.LoadOrCreateIdentity(dir); err != nil {
				t.Fatal(err)
			}
			if err := damage(dir); err != nil {
				t.Fatal(err)
			}
			_, err := wire.LoadOrCreateIdentity(dir)
			if err == nil {
				t.Fatal("a damaged identity was replaced or accepted")
			}
			if !strings.Contains(err.Error(), "restore") {
				t.Errorf("%q gives no remedy", err)
			}
		})
	}
}

func TestParseIdentity_TakesBackItsPEM(t *testing.T) {
	id := wiretest.NewIdentity(t)
	again, err := wire.ParseIdentity(id.PEM())
	if err != nil || again.Thumbprint() != id.Thumbprint() || again.SPKI() != id.SPKI() {
		t.Fatal(err)
	}
	if _, err := wire.ParseIdentity(id.CertPEM()); err == nil {
		t.Fatal("an identity without a private key")
	}
}

func TestThumbprint_IsReadableBothWays(t *testing.T) {
	print := wiretest.NewIdentity(t).Thumbprint()
	bare := strings.ToLower(strings.ReplaceAll(print.String(), ":", ""))
	for _, text := range []string{print.String(), bare, " " + print.String() + "\n"} {
		if again, err := wire.ParseThumbprint(text); err != nil || again != print {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{"", "AB:CD", print.String() + ":00", "zz" + bare[2:]} {
		if _, err := wire.ParseThumbprint(text); err == nil {
			t.Errorf("%q was taken for a thumbprint", text)
		}
	}
	type row struct {
		Print, None wire.Thumbprint
	}
	encoded, err := json.Marshal(row{Print: print})
	if err != nil {
		t.Fatal(err)
	}
	var decoded row
	if err := json.Unmarshal(encoded, &decoded); err != nil || decoded.Print != print ||
		!decoded.None.IsZero() {
		t.Errorf("%s came back as %v: %v", encoded, decoded, err)
	}
}
