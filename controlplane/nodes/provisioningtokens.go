package nodes

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"hash/crc32"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// The shape of a provisioning token, all lengths in characters:
//
//	nopp1_<prefix: 8>_<secret: 43>_<crc: 8>
//
// base64url may contain "_", so fields are cut by length. The CRC-32 finds a truncated paste.
const (
	provisioningStart     = "nopp1_"
	provisioningPrefixLen = 8
	provisioningSecretLen = 43 // 256 bit in base64url
	provisioningLen       = len(provisioningStart) + provisioningPrefixLen + 1 +
		provisioningSecretLen + 1 + 8
	// prefixLetters are 32, without those that look alike.
	prefixLetters = "0123456789abcdefghjkmnpqrstvwxyz"
)

// The bounds of a provisioning token, and how long it lasts unless the admin says so.
const (
	defaultProvisioningLife = 24 * time.Hour
	maxProvisioningLife     = 365 * 24 * time.Hour
	maxProvisioningUses     = 10000
)

// ProvisioningRequest is what an admin says about a new provisioning token.
type ProvisioningRequest struct {
	Description string
	// Environment, Template and Settings are those of the nodes.
	Environment string
	Template    string
	Settings    controlplane.NodeSettings
	// NamePattern makes the nodes' names; empty calls them as the machines call themselves.
	NamePattern string
	MaxUses     int
	// Lasts is how long it enrols machines; zero is a day.
	Lasts time.Duration
}

// CreateProvisioningToken makes a token that enrols machines. Its value is returned only here.
func (s *Nodes) CreateProvisioningToken(
	ctx context.Context, actor access.Actor, r ProvisioningRequest,
) (t controlplane.ProvisioningToken, value controlplane.Plain, err error) {
	prefix, text := newProvisioningToken()
	value = controlplane.NewPlain(text)
	err = s.changeAsAdmin(ctx, actor, "create provisioning token", "provisioning token "+prefix,
		func(tx *postgres.Tx) (err error) {
			if t, err = s.checkProvisioning(ctx, tx, r); err != nil {
				return err
			}
			t.Prefix, t.CreatedBy = prefix, actor.Name()
			return tx.ProvisioningTokens().Insert(ctx, t, hashProvisioning(value))
		})
	return t, value, err
}

// checkProvisioning makes the token that is asked for, without its prefix.
func (s *Nodes) checkProvisioning(
	ctx context.Context, tx *postgres.Tx, r ProvisioningRequest,
) (t controlplane.ProvisioningToken, err error) {
	t = controlplane.ProvisioningToken{Description: r.Description, Template: r.Template,
		NamePattern: cmp.Or(r.NamePattern, controlplane.DefaultNamePattern), MaxUses: r.MaxUses,
		CreatedAt: s.now()}
	t.ExpiresAt = t.CreatedAt.Add(cmp.Or(r.Lasts, defaultProvisioningLife))
	switch {
	case len(r.Description) > 200:
		return t, controlplane.NewInvalidError("description", "too_long",
			"a description has at most 200 bytes", "Shorten it.")
	case r.MaxUses < 1 || r.MaxUses > maxProvisioningUses:
		return t, controlplane.NewInvalidError("max_uses", "max_uses_invalid",
			"a provisioning token enrols 1 to 10000 machines", "Say how many machines it is for.")
	case r.Lasts < 0 || r.Lasts > maxProvisioningLife:
		return t, controlplane.NewInvalidError("expires_in_hours", "token_expiry",
			"a provisioning token lasts 1 to 8760 hours", "Give a number of hours, or none for a day.")
	}
	if err := controlplane.CheckNamePattern("name_pattern", t.NamePattern); err != nil {
		return t, err
	}
	n := controlplane.Node{Template: r.Template}
	if n.Settings, err = r.Settings.Normalize(); err != nil {
		return t, err
	}
	t.Settings = n.Settings
	if err := applyTemplate(ctx, tx, &n); err != nil {
		return t, err
	}
	t.EnvironmentID, err = findEnvironment(ctx, tx, r.Environment)
	t.Environment = r.Environment
	return t, err
}

// ListProvisioningTokens returns one page of tokens by prefix, and the next page's cursor.
func (s *Nodes) ListProvisioningTokens(
	ctx context.Context, actor access.Actor, p controlplane.Page,
) (all []controlplane.ProvisioningToken, next string, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return nil, "", err
	}
	err = s.store.Read(ctx, func(tx *postgres.Tx) (err error) {
		all, err = tx.ProvisioningTokens().List(ctx, p.After, p.FetchLimit())
		return err
	})
	all, next = controlplane.CutPage(p, all, func(t controlplane.ProvisioningToken) string {
		return t.Prefix
	})
	return all, next, err
}

// RevokeProvisioningToken ends a token. The nodes that it enrolled stay: each has a token of its
// own.
func (s *Nodes) RevokeProvisioningToken(
	ctx context.Context, actor access.Actor, prefix string,
) error {
	return s.changeAsAdmin(ctx, actor, "revoke provisioning token",
		"provisioning token "+controlplane.ClipText(prefix), func(tx *postgres.Tx) error {
			return tx.ProvisioningTokens().Revoke(ctx, prefix, s.now())
		})
}

// newProvisioningToken makes a token and its public part.
func newProvisioningToken() (prefix, text string) {
	letters := make([]byte, provisioningPrefixLen)
	_, _ = rand.Read(letters) // never fails: the process dies instead
	for i, b := range letters {
		letters[i] = prefixLetters[b%32]
	}
	secret := make([]byte, 32)
	_, _ = rand.Read(secret)
	body := provisioningStart + string(letters) + "_" + base64.RawURLEncoding.EncodeToString(secret)
	return string(letters), body + "_" + provisioningChecksum(body)
}

func provisioningChecksum(body string) string {
	return fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(body)))
}

// provisioningPrefix returns the public part of a token, and false for what is none.
func provisioningPrefix(token controlplane.Plain) (prefix string, ok bool) {
	text := token.Reveal()
	rest, ok := strings.CutPrefix(text, provisioningStart)
	if !ok || len(text) != provisioningLen {
		return "", false
	}
	prefix, body := rest[:provisioningPrefixLen], text[:provisioningLen-9]
	return prefix, strings.Trim(prefix, prefixLetters) == "" &&
		text[len(body):] == "_"+provisioningChecksum(body)
}

func hashProvisioning(token controlplane.Plain) [32]byte {
	return sha256.Sum256([]byte(token.Reveal()))
}
