package keyring

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/audit"
	"github.com/nullops/nullops/controlplane/postgres"
)

// VerdictSigner returns the key that signs QA's verdicts, and its public one. The first call makes
// it. It is ECDSA on P-256, which every tool that verifies such statements knows.
func (k *Keyring) VerdictSigner(
	ctx context.Context, tx *postgres.Tx,
) (key crypto.Signer, public controlplane.VerdictKey, err error) {
	sealed, public, err := tx.Verdicts().Key(ctx, false)
	if err == nil && sealed == nil {
		sealed, public, err = tx.Verdicts().Key(ctx, true)
	}
	if err == nil && sealed == nil {
		if err = k.makeVerdictKey(ctx, tx); err == nil {
			sealed, public, err = tx.Verdicts().Key(ctx, true)
		}
	}
	if err != nil {
		return nil, public, err
	}
	if key, err = k.openSigner(verdictKeyLocation(), sealed); err != nil {
		return nil, public, fmt.Errorf("open the key of verdicts: %w", err)
	}
	return key, public, nil
}

// RotateVerdictKey makes another key that signs verdicts. The private one that signed before is
// gone; its public one stays published, so that what it signed can be verified.
func (k *Keyring) RotateVerdictKey(ctx context.Context, actor access.Actor) error {
	return audit.ChangeAsAdmin(ctx, k.store, actor, "rotate", "the key that signs verdicts",
		func(tx *postgres.Tx) error {
			if _, _, err := tx.Verdicts().Key(ctx, true); err != nil {
				return err
			}
			if err := tx.Verdicts().EndKey(ctx); err != nil {
				return err
			}
			return k.makeVerdictKey(ctx, tx)
		})
}

func (k *Keyring) makeVerdictKey(ctx context.Context, tx *postgres.Tx) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("make the key of verdicts: %w", err)
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return fmt.Errorf("write the key of verdicts: %w", err)
	}
	sealed, err := k.sealSigner(verdictKeyLocation(), key)
	if err != nil {
		return err
	}
	public := string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	return tx.Verdicts().InsertKey(ctx, sealed, public)
}
