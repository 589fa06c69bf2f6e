// Package notify informs external systems and people of events: signed webhooks, chat
// messages, mail to people who subscribed, and what waits in the UI for one person to read.
//
// A trigger writes the notice in the transaction of the change (migration 37), so that
// no event is lost. A loop turns notices into deliveries, one for each receiver, and
// sends them: each is claimed before it is sent, retried with growing delays, and kept
// as the delivery log. A receiver may get something twice, with the same delivery id,
// but never about a change that was rolled back.
//
// A webhook's address is sealed, never shown, and checked against
// controlplane.OffLimits at each connection; redirects are not followed.
package notify

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// The rhythm.
const (
	// lookEvery bounds the delay of a notice if its notification is lost.
	lookEvery = 2 * time.Second
	// sendWithin is what one receiver may take, holdFor what a batch may: a
	// claim must not end while its holder still sends.
	sendWithin = 10 * time.Second
	holdFor    = 2 * time.Minute
	atOnce     = 10
	// keepFor is how long ended deliveries stay in the log, and notices with their person.
	keepFor = 30 * 24 * time.Hour
)

// Vault seals and opens the addresses and keys of webhooks.
type Vault interface {
	SealWebhookSecret(access.Actor, string, controlplane.Plain) (controlplane.Sealed, error)
	OpenWebhookSecret(access.Actor, string, controlplane.Sealed) (controlplane.Plain, error)
}

// Config is what New needs.
type Config struct {
	Store *postgres.Store
	Vault Vault
	// Off is where webhooks may not lead.
	Off controlplane.OffLimits
	// Mail sends mail; a zero one sends none.
	Mail MailConfig
	// URL is the control plane's, for links.
	URL string
	// Addresses are the URLs that people open a deployment under.
	Addresses func(hosts []controlplane.Host) []string
	Log       *slog.Logger
	// Pause replaces the time before the next try, for tests.
	Pause func(attempts int) time.Duration
	// Sent hears of each attempt, by channel: webhook or mail. Nil hears of nothing.
	Sent func(ctx context.Context, channel string, took time.Duration, err error)
}

// Notifier has the use cases of webhooks and subscriptions, and the sending loop.
type Notifier struct {
	Config
	client *http.Client
}

// New makes it; nothing is sent before Run.
func New(c Config) *Notifier {
	if c.Pause == nil {
		c.Pause = retryDelay
	}
	if c.Sent == nil {
		c.Sent = func(context.Context, string, time.Duration, error) {}
	}
	return &Notifier{Config: c, client: &http.Client{
		Timeout: sendWithin,
		Transport: &http.Transport{
			DialContext: c.Off.Dialer(5 * time.Second).DialContext, TLSHandshakeTimeout: 5 * time.Second,
			MaxResponseHeaderBytes: 64 << 10, MaxIdleConns: 10, IdleConnTimeout: 30 * time.Second,
			ForceAttemptHTTP2: true,
		},
		// Following a redirect would send the message to an address that no admin chose.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Run sends notifications until ctx ends. wake receives after a change; if nil, only
// the ticker is used.
func (n *Notifier) Run(ctx context.Context, wake <-chan struct{}) error {
	defer n.client.CloseIdleConnections()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	forget := time.Now()
	for {
		if err := n.runOnce(ctx, &forget); err != nil && ctx.Err() == nil {
			n.Log.WarnContext(ctx, "notifications are behind", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-wake:
		case <-tick.C:
		}
	}
}

// runOnce hands out notices, then sends until nothing is due.
func (n *Notifier) runOnce(ctx context.Context, forget *time.Time) error {
	for more := true; more; {
		taken, err := n.handOut(ctx)
		if err != nil {
			return err
		}
		sent, err := n.sendDue(ctx)
		if err != nil {
			return err
		}
		more = taken+sent > 0 && ctx.Err() == nil
	}
	if time.Since(*forget) < 0 {
		return nil
	}
	*forget = time.Now().Add(time.Hour)
	before := time.Now().Add(-keepFor)
	return n.Store.InTx(ctx, func(tx *postgres.Tx) error {
		_, deliveries := tx.Deliveries().DeleteOld(ctx, before, 10_000)
		_, notices := tx.Inbox().DeleteOld(ctx, before, 10_000)
		_, requests := tx.AccessRequests().DeleteOld(ctx, before, 10_000)
		return errors.Join(deliveries, notices, requests)
	})
}
