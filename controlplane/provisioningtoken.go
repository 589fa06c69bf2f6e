package controlplane

import (
	"strconv"
	"strings"
	"time"
)

// ProvisioningToken enrols machines as nodes, each with the same settings. The secret itself is
// stored nowhere.
type ProvisioningToken struct {
	// Prefix is the public part, by which the token is found and named.
	Prefix        string
	Description   string
	EnvironmentID EnvironmentID
	Environment   string
	// Template is the node template that the nodes follow, or empty; Settings are their own.
	Template string
	Settings NodeSettings
	// NamePattern makes the nodes' names, see CheckNamePattern.
	NamePattern   string
	MaxUses, Uses int
	CreatedBy     string
	CreatedAt     time.Time
	ExpiresAt     time.Time
	LastUsedAt    *time.Time
	RevokedAt     *time.Time
}

// ProvisioningTokenStatus says whether a token still enrols machines.
type ProvisioningTokenStatus string

// The statuses.
const (
	ProvisioningActive  ProvisioningTokenStatus = "active"
	ProvisioningUsedUp  ProvisioningTokenStatus = "used_up"
	ProvisioningExpired ProvisioningTokenStatus = "expired"
	ProvisioningRevoked ProvisioningTokenStatus = "revoked"
)

// Status is the token's status at a time. What a person did counts before what time did.
func (t ProvisioningToken) Status(now time.Time) ProvisioningTokenStatus {
	switch {
	case t.RevokedAt != nil:
		return ProvisioningRevoked
	case !now.Before(t.ExpiresAt):
		return ProvisioningExpired
	case t.Uses >= t.MaxUses:
		return ProvisioningUsedUp
	default:
		return ProvisioningActive
	}
}

// The placeholders of a name pattern: what the machine calls itself, and the lowest free number.
const (
	hostPlaceholder   = "{hostname}"
	numberPlaceholder = "{n}"
	// DefaultNamePattern calls nodes as their machines call themselves.
	DefaultNamePattern = hostPlaceholder
	// maxPatternText leaves room for a number and a part of the host name.
	maxPatternText = 28
)

// CheckNamePattern refuses a pattern that does not make names: letters, digits and hyphens with
// {hostname} and {n} at most once each.
func CheckNamePattern(field, pattern string) error {
	fixed := strings.Replace(strings.Replace(pattern, hostPlaceholder, "", 1),
		numberPlaceholder, "", 1)
	if len(fixed) > maxPatternText || !isLabel(fillPattern(pattern, "h", 1)) {
		return NewInvalidError(field, "name_pattern_invalid",
			"this pattern does not make valid names of nodes",
			"Use up to 28 lowercase letters, digits and hyphens, with {hostname} and {n} for the "+
				"machine's own name and for a number, such as gpu-{n}.")
	}
	return nil
}

// NodeNameFor is the n-th name to try for a machine, from 1. A pattern without a number gets one
// from the second name on.
func NodeNameFor(pattern, hostname string, n int) string {
	if n > 1 && !strings.Contains(pattern, numberPlaceholder) {
		pattern += "-" + numberPlaceholder
	}
	return fillPattern(pattern, hostLabel(hostname), n)
}

func fillPattern(pattern, host string, n int) string {
	name := strings.Replace(pattern, numberPlaceholder, strconv.Itoa(n), 1)
	room := max(0, MaxName-len(strings.Replace(name, hostPlaceholder, "", 1)))
	host = strings.Trim(host[:min(len(host), room)], "-")
	return strings.Replace(name, hostPlaceholder, host, 1)
}

// hostLabel makes a label of a host name: its first part, with hyphens for what no name may have.
func hostLabel(hostname string) string {
	first, _, _ := strings.Cut(strings.ToLower(hostname), ".")
	label := strings.Trim(strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			return c
		}
		return '-'
	}, first), "-")
	if label == "" {
		return "node"
	}
	return label
}
