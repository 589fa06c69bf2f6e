package server

import (
	"context"
	"net/netip"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/notify"
	"github.com/nullops/nullops/controlplane/review"
	"github.com/nullops/nullops/controlplane/sources"
	"github.com/nullops/nullops/internal/gitfetch"
)

// newNotifier returns the sender of webhooks and mails.
func (b *serverBase) newNotifier(own func(netip.AddrPort) bool) *notify.Notifier {
	m := b.settings.Mail
	return notify.New(notify.Config{Store: b.store, Vault: b.keys,
		Off: controlplane.OffLimits{Own: own, Loopback: b.settings.HTTP.isLoopback()},
		Mail: notify.MailConfig{Server: m.Server, From: m.From, Username: m.Username,
			Password: controlplane.NewPlain(m.Password)},
		URL: b.settings.HTTP.URL, Addresses: b.lifecycle.Addresses,
		Log:  b.logOf("notify"),
		Sent: b.metrics.notificationSent})
}

// newReviewer is what makes pull requests into deployments.
func (b *serverBase) newReviewer(own func(netip.AddrPort) bool) *review.Reviews {
	return review.New(review.Config{Store: b.store, Catalog: b.catalog, Keys: b.keys,
		Lifecycle: b.lifecycle,
		Off:       controlplane.OffLimits{Own: own, Loopback: b.settings.HTTP.isLoopback()},
		URL:       b.settings.HTTP.URL, Log: b.logOf("review")})
}

// newSources is what keeps definitions in step with git repositories.
func (b *serverBase) newSources(own func(netip.AddrPort) bool) *sources.Sources {
	return sources.New(sources.Config{Store: b.store, Keys: b.keys,
		Off:    controlplane.OffLimits{Own: own, Loopback: b.settings.HTTP.isLoopback()},
		Limits: gitfetch.DefaultLimits(), Log: b.logOf("sources")})
}

// runReviews runs it, awake as soon as a deployment changes.
func (b *serverBase) runReviews(ctx context.Context) error {
	heard := b.listener.Subscribe("", controlplane.TopicDeployment)
	defer heard.Close()
	return b.reviews.Run(ctx, heard.Wake)
}

// runNotifications runs it, and wakes it when a deployment or a node changes.
func (b *serverBase) runNotifications(ctx context.Context) error {
	heard := b.listener.Subscribe("", controlplane.TopicDeployment, controlplane.TopicNode)
	defer heard.Close()
	return b.notify.Run(ctx, heard.Wake)
}
