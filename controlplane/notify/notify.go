// Package notify tells the outside what happened: signed webhooks, chat
// messages, and mail to people who asked for it.
//
// A change writes its notice in its own transaction (a trigger does, see
// migration 37), so that nothing that happened goes untold. A loop turns
// notices into deliveries, one for each place that wants to hear, and sends
// them: each is claimed before it is sent, tried again with growing pauses, and
// kept as the delivery log. A receiver may thus hear of something twice, never
// of something that did not happen; the delivery's id tells it.
//
// Where a webhook leads is sealed, never shown, and checked against
// controlplane.OffLimits at each connection; redirects are not followed.
package notify

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// The rhythm.
const (
	// lookEvery is how soon a change is told whose wake-up got lost.
	lookEvery = 2 * time.Second
	// sendWithin is what one receiver may take, holdFor what a batch may: a
	// claim must not end while its holder still sends.
	sendWithin = 10 * time.Second
	holdFor    = 2 * time.Minute
	atOnce     = 10
	// keepFor is how long the log keeps what ended.
	keepFor = 30 * 24 * time.Hour
)

// Vault seals and opens the addresses and keys of webhooks.
type Vault interface {
	SealOutward(access.Actor, string, controlplane.Plain) (controlplane.Sealed, error)
	OpenOutward(access.Actor, string, controlplane.Sealed) (controlplane.Plain, error)
}

// Config is what New needs.
type Config struct {
	Store *postgres.Store
	Vault Vault
	// Off is where webhooks may not lead.
	Off controlplane.OffLimits
	// Mail sends mail; a zero one sends none.
	Mail Mail
	// URL is the control plane's, for links.
	URL string
	// HostURL is how people open a host of a deployment.
	HostURL func(host string) string
	Log     *slog.Logger
	// Pause replaces the time before the next try, for tests.
	Pause func(attempts int) time.Duration
}

// Notify is the door to webhooks and choices, and the loop that tells.
type Notify struct {
	Config
	client *http.Client
}

// New makes it; nothing is told before Run.
func New(c Config) *Notify {
	if c.Pause == nil {
		c.Pause = pause
	}
	return &Notify{Config: c, client: &http.Client{
		Timeout: sendWithin,
		Transport: &http.Transport{
			DialContext: c.Off.Dialer(5 * time.Second).DialContext, TLSHandshakeTimeout: 5 * time.Second,
			MaxResponseHeaderBytes: 64 << 10, MaxIdleConns: 10, IdleConnTimeout: 30 * time.Second,
			ForceAttemptHTTP2: true,
		},
		// The one who follows would carry the message to where nobody sent it.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Run tells what happens until ctx ends. wake yields when something did; nil
// is looked at every two seconds only.
func (n *Notify) Run(ctx context.Context, wake <-chan struct{}) error {
	defer n.client.CloseIdleConnections()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	forget := time.Now()
	for {
		if err := n.turn(ctx, &forget); err != nil && ctx.Err() == nil {
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

// turn hands out notices, then sends until nothing is due.
func (n *Notify) turn(ctx context.Context, forget *time.Time) error {
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
	return n.Store.InTx(ctx, func(tx *postgres.Tx) error {
		_, err := tx.ForgetDeliveries(ctx, time.Now().Add(-keepFor), 10_000)
		return err
	})
}
