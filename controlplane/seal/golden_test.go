package seal_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"testing"

	"github.com/nullops/nullops/controlplane/seal"
)

// storedValue was sealed by an earlier release under storedKey. Databases and
// backups hold values of this format for years.
const storedValue = "" +
	"0104676f6c64abe0fff2efc95d9570ece6ba90fc5a8e936ab2423d066b0c8b62d1afad6f61b1b078" +
	"8e7fded1d9240ce90e9ccded8d6eb47039a86be9fb46bba1f54ffdc0d83b1e171052814b1c14b36a" +
	"97a55a43d91ef2e2aa0f203db101c2bd45d21853c6f77358e6ba5eaa431d83b6ff7ecd0fd20160f6" +
	"42"

func storedKey() string {
	key := sha256.Sum256([]byte("the key of a value that was stored"))
	return "gold:" + base64.StdEncoding.EncodeToString(key[:])
}

// What was stored stays readable, so neither the format nor the cipher (AES-256) may
// change under its version.
func TestOpen_ReadsAStoredValue(t *testing.T) {
	ring, err := seal.ParseKeyring(storedKey())
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := hex.DecodeString(storedValue)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := ring.Open(testLocation(), sealed)
	// promise: N-114
	if err != nil || string(plain) != "a value sealed with AES-256" {
		t.Errorf("a stored value opens as %q, %v", plain, err)
	}
}
