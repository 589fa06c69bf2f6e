package controlplane

import "time"

// Alphabet is what a generated secret is made of.
type Alphabet string

// The alphabets.
const (
	Alphanumeric Alphabet = "alphanumeric"
	Hex          Alphabet = "hex"
	Base64URL    Alphabet = "base64url"
)

// SecretRule generates a new secret for each deployment.
type SecretRule struct {
	// Length is in characters.
	Length   int
	Alphabet Alphabet
	// Pattern, when it is set, spells the secret instead of the two above.
	Pattern string
}

// VaultPath says where the value of a secret is kept: a field of a value in Vault.
type VaultPath struct{ Path, Field string }

// Secret is a name a pipeline may refer to. Its value is never shown.
type Secret struct {
	ID      SecretID
	Project ProjectID
	Name    string
	// Version grows with each new value, rule or path.
	Version int
	// Exactly one of Value, Rule and Vault is set.
	Value      Sealed
	Rule       *SecretRule
	Vault      *VaultPath
	UpdatedAt  time.Time
	LastUsedAt *time.Time
}
