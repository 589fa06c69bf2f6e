package server

import (
	"context"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/acme"
)

// orderCertificates orders certificates for environments that ask for it.
func (b *serverBase) orderCertificates(ctx context.Context) error {
	host := ""
	if b.settings.HTTP.Order {
		host = b.settings.HTTP.hostname()
	}
	return acme.New(acme.Config{Store: b.store, Certificates: b.certificates, UIHost: host,
		Subscribe: b.subscribeTopics,
		Off: controlplane.OffLimits{Own: newOwnAddresses(b.settings).contains,
			Loopback: b.settings.HTTP.isLoopback()},
		Log: b.logOf("acme")}).Run(ctx)
}
