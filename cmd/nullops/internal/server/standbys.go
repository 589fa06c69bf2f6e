package server

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

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
	at, err := h.internalURL()
	if err != nil {
		return err
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

// internalURL is where the other processes reach this one: http.internal, or else http.url. If it
// is host:port, it has the scheme that this process serves.
func (h HTTPSettings) internalURL() (*url.URL, error) {
	name, text := "http.internal", h.Internal
	switch {
	case text == "":
		name, text = "http.url", h.URL
	case !strings.Contains(text, "://") && h.usesTLS():
		text = "https://" + text
	case !strings.Contains(text, "://"):
		text = "http://" + text
	}
	at, err := url.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("setting %s: %w", name, err)
	}
	return at, absoluteURL(name, text)
}
