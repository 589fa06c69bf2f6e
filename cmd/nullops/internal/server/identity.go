package server

import (
	"context"
	"fmt"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/catalog"
	"github.com/nullops/nullops/controlplane/seal"
)

// openIdentity reads the control plane's client certificate, which the first
// start makes: agents know it by a fingerprint in their token.
func (b *serverBase) openIdentity(ctx context.Context, keys *seal.Keyring) (*wire.Identity, error) {
	_, key, err := catalog.LoadOrCreateIdentity(ctx, access.System("setup"), b.store, keys,
		func() (certificate, key []byte, err error) {
			i, err := wire.NewIdentity("nullops control plane")
			if err != nil {
				return nil, nil, err
			}
			return i.CertPEM(), i.PEM(), nil
		})
	if err != nil {
		return nil, err
	}
	identity, err := wire.ParseIdentity(key)
	if err != nil {
		return nil, fmt.Errorf("stored identity: %w", err)
	}
	return identity, nil
}

// issueToken makes a node's token, bound to the control plane's identity.
func (b *serverBase) issueToken() (catalog.IssuedToken, error) {
	token := wire.NewToken(b.identity.SPKI())
	return catalog.IssuedToken{Token: controlplane.NewPlain(token.Reveal()), Kid: token.Kid,
		Key: token.Key().Bytes()}, nil
}
