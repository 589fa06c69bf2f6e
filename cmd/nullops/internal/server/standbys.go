package server

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/controlplane/fleet"
)

// serveStandbys answers agents that dial, and the processes that ask for their connections,
// beside the API. All of them prove a node's token before they get anything.
func (b *serverBase) serveStandbys(api http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == wire.PathStandby {
			b.dialing.Standbys.ServeHTTP(w, r)
			return
		}
		api.ServeHTTP(w, r)
	})
}

// announceStandbys tells the other processes where to ask for connections of agents.
func (b *serverBase) announceStandbys(ctx context.Context) error {
	h := b.settings.HTTP
	name, text := "http.internal", h.Internal
	if text == "" {
		name, text = "http.url", h.URL
	}
	at, err := url.Parse(text)
	if err != nil {
		return fmt.Errorf("setting %s: %w", name, err)
	}
	fingerprint := func() string { return "" }
	if h.usesTLS() {
		k, err := h.newCertificateKeeper()
		if err != nil {
			return err
		}
		fingerprint = func() string {
			now, err := k.currentCertificate(nil)
			if err != nil {
				return "" // the listener says so
			}
			return fleet.FingerprintOf(now.Certificate[0])
		}
	}
	return b.dialing.Standbys.Announce(ctx, at, fingerprint)
}
