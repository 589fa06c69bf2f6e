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

	"github.com/nullops/nullops/controlplane/postgres"
)

// VerdictSigner returns the key that signs QA's verdicts, and the public one in PEM. The first call
// makes it. It is ECDSA on P-256, which every tool that verifies such statements knows.
func (k *Keyring) VerdictSigner(
	ctx context.Context, tx *postgres.Tx,
) (key crypto.Signer, public string, err error) {
	sealed, public, err := tx.Verdicts().Key(ctx, false)
	if err == nil && sealed == nil {
		sealed, public, err = tx.Verdicts().Key(ctx, true)
	}
	if err != nil {
		return nil, "", err
	}
	if sealed == nil {
		return k.makeVerdictKey(ctx, tx)
	}
	if key, err = k.openSigner(verdictKeyLocation(), sealed); err != nil {
		return nil, "", fmt.Errorf("open the key of verdicts: %w", err)
	}
	return key, public, nil
}

func (k *Keyring) makeVerdictKey(
	ctx context.Context, tx *postgres.Tx,
) (crypto.Signer, string, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, "", fmt.Errorf("make the key of verdicts: %w", err)
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, "", fmt.Errorf("write the key of verdicts: %w", err)
	}
	sealed, err := k.sealSigner(verdictKeyLocation(), key)
	if err != nil {
		return nil, "", err
	}
	public := string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	return key, public, tx.Verdicts().InsertKey(ctx, sealed, public)
}
