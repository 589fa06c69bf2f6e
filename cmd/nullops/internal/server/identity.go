package server

import (
	"context"
	"fmt"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/nodes"
)

// openIdentity reads the control plane's client certificate, which the first
// start makes: agents know it by a fingerprint in their token.
func (b *serverBase) openIdentity(ctx context.Context) (*wire.Identity, error) {
	_, key, err := b.keys.LoadOrCreateIdentity(ctx, access.System("setup"),
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
func (b *serverBase) issueToken() (nodes.IssuedToken, error) {
	token := wire.NewToken(b.identity.SPKI())
	return nodes.IssuedToken{Token: controlplane.NewPlain(token.Reveal()), Kid: token.Kid,
		Key: token.Key().Bytes()}, nil
}
