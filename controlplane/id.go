package controlplane

import "github.com/google/uuid"

// Ids are UUIDv7 in their usual spelling: unique, and ordered by creation.
// Each kind has its own type, so that no two of them can be confused.
type (
	UserID        string
	SessionID     string
	TokenID       string
	TeamID        string
	RegistryID    string
	ServiceID     string
	PluginID      string
	EnvironmentID string
	NodeID        string
	ProjectID     string
	SecretID      string
	DeploymentID  string
	RunID         string
)

// NewID makes an id of the wanted kind.
func NewID[T ~string]() T {
	// The only error is a dead random source, which crypto/rand turns into
	// the end of the process anyway.
	return T(uuid.Must(uuid.NewV7()).String())
}

// ValidID reports whether s is an id as NewID spells it. Looking up anything
// else would be an error of the database instead of "not found".
func ValidID(s string) bool {
	id, err := uuid.Parse(s)
	return err == nil && id.String() == s
}
