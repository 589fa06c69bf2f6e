package catalog

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/keyring"
	"github.com/nullops/nullops/controlplane/vault"
)

// vaultPathPattern and vaultFieldPattern keep a path one path: no empty or dotted part, no
// wildcard, nothing that a URL would read in another way.
var (
	vaultPathPattern  = regexp.MustCompile(`^[A-Za-z0-9_-][\w.-]*(/[A-Za-z0-9_-][\w.-]*)+$`)
	vaultFieldPattern = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)
)

// checkVaultPath refuses what could not be read when a run needs it. Whether there is a
// value is found out then: it may be written later.
func (c *Catalog) checkVaultPath(p controlplane.VaultPath) error {
	switch {
	case c.vault == nil:
		return controlplane.NewInvalidError(
			"vault", "vault_off", "this installation reads no secrets from Vault",
			"Ask its operator to set vault.address and vault.secrets.path.")
	case len(p.Path) > 512 || !vaultPathPattern.MatchString(p.Path) || !c.vault.Allows(p.Path):
		return controlplane.NewInvalidError("vault.path", "vault_path",
			"secrets of projects are read from paths below "+c.vault.Root+" only",
			"Write the path in the engine "+c.vault.Mount+", such as "+c.vault.Root+"/shop/database.")
	case !vaultFieldPattern.MatchString(p.Field):
		return controlplane.NewInvalidError("vault.field", "vault_field",
			"a field in Vault has 1 to 128 letters, digits and _ . -",
			"Write the name of the field that holds the value.")
	}
	return nil
}

// readVault reads a secret's value where it is kept. Only a run's sealed copy of it is
// stored (see openRunValues).
func (c *Catalog) readVault(
	ctx context.Context, s controlplane.Secret,
) (controlplane.Plain, error) {
	none := controlplane.Plain{}
	if err := c.checkVaultPath(*s.Vault); err != nil {
		return none, unreadableSecret(s, "is not readable by this installation", err)
	}
	value, err := c.vault.Read(ctx, s.Vault.Path, s.Vault.Field)
	switch {
	case errors.Is(err, vault.ErrUnavailable):
		return none, &controlplane.Error{
			Kind: controlplane.Unavailable, Code: "vault_unavailable", RetryAfter: keyring.RetryWaiting,
			Message: fmt.Sprintf("secret %s waits for its value at %s in Vault, which does not answer",
				s.Name, s.Vault.Path),
			Remedy: "Check that Vault runs and is unsealed. What waits continues by itself.",
			Cause:  err,
		}
	case errors.Is(err, vault.ErrNotFound):
		return none, unreadableSecret(s, "is not there, or has no such field", err)
	case err != nil:
		return none, unreadableSecret(s, "may not be read by the control plane", err)
	}
	if err := checkSecretValue(value); err != nil {
		return none, unreadableSecret(s, "is no secret: "+err.Error(), err)
	}
	return controlplane.NewPlain(value), nil
}

// unreadableSecret ends a run: it names the secret and its path, and never what is there.
func unreadableSecret(s controlplane.Secret, why string, cause error) error {
	return &controlplane.Error{
		Kind: controlplane.Conflict, Code: "vault_secret",
		Message: fmt.Sprintf("the value of the secret %s, field %s of %s in Vault, %s",
			s.Name, s.Vault.Field, s.Vault.Path, why),
		Remedy: "Correct the path of the secret, the value in Vault, or the control plane's policy " +
			"there, then retry.",
		Cause: cause,
	}
}
