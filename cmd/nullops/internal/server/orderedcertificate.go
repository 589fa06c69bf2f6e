package server

import (
	"context"
	"crypto/tls"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
)

// orderedCertificate is the UI's certificate from an authority, once there is one. Who connects by
// another name, such as localhost, still gets the one of our own making: the command line pins it.
type orderedCertificate struct {
	host        string
	fingerprint string
	parsed      atomic.Pointer[tls.Certificate]
}

func (o *orderedCertificate) forHost(name string) *tls.Certificate {
	if !strings.EqualFold(name, o.host) {
		return nil
	}
	return o.parsed.Load()
}

// serveOrdered follows what was ordered for the UI, in whichever control plane that was.
func (b *serverBase) serveOrdered(ctx context.Context, o *orderedCertificate) error {
	if !b.settings.HTTP.Order {
		return nil
	}
	wake, stop := b.subscribeTopics("", controlplane.TopicCatalog)
	defer stop()
	ticker := time.NewTicker(time.Minute)
	defer ticker.Stop()
	for {
		if err := b.readOrdered(ctx, o); err != nil && ctx.Err() == nil {
			b.log.WarnContext(ctx, "the UI's ordered certificate could not be read", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-wake:
		case <-ticker.C:
		}
	}
}

func (b *serverBase) readOrdered(ctx context.Context, o *orderedCertificate) error {
	actor := access.System("ui-certificate")
	all, err := b.certificates.OrderedCertificates(ctx, actor)
	if err != nil {
		return err
	}
	for _, c := range all {
		if c.Subject != o.host || c.Chain == "" || c.Fingerprint == o.fingerprint {
			continue
		}
		opened, err := b.certificates.OpenOrdered(ctx, actor, c)
		if err != nil {
			return err
		}
		pair, err := tls.X509KeyPair([]byte(opened.Chain), []byte(opened.Key.Reveal()))
		if err != nil {
			return err
		}
		o.parsed.Store(&pair)
		o.fingerprint = c.Fingerprint
		b.log.InfoContext(ctx, "the UI has an ordered certificate", "host", o.host,
			"not_after", c.NotAfter)
	}
	return nil
}
