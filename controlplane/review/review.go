// Package review turns pull requests into deployments: code hosts and registries send
// events, an admin's rule decides what is created, and the pull request gets the
// address.
//
// Events are untrusted until their signature is verified: bodies are bounded, an
// unknown rule answers like a wrong signature, and replays are ignored. Pull requests
// from forks are ignored, since anyone can open one, or wait until somebody approves
// their commit. An event only changes what is
// wanted; a loop claims unfinished reviews, waits until the registry has the tag, and
// creates or removes the deployment.
package review

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/catalog"
	"github.com/nullops/nullops/controlplane/keyring"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/controlplane/postgres"
)

// The rhythm.
const (
	lookEvery = 2 * time.Second
	// holdFor is how long a claim lasts before another control plane may take the review.
	holdFor = 3 * time.Minute
	atOnce  = 10
	// keepFor is how long received events are stored, so that none is replayed.
	keepFor = 90 * 24 * time.Hour
)

// Config is what New needs.
type Config struct {
	Store     *postgres.Store
	Catalog   *catalog.Catalog
	Keys      *keyring.Keyring
	Lifecycle *lifecycle.Lifecycle
	// Off is where the addresses of code hosts may not lead.
	Off controlplane.OffLimits
	// URL is the control plane's, for links.
	URL string
	Log *slog.Logger
	// Ask is how often a registry is asked for a missing tag; zero is 15 s.
	Ask time.Duration
	// WaitFor is how long a removal waits for those who are there; zero is 15 minutes.
	WaitFor time.Duration
}

// Reviews is the door to rules, and the loop that fulfils them.
type Reviews struct {
	Config
	client *http.Client
	limits rateLimits
	posted postedParts
}

// New makes it; nothing happens before Run.
func New(c Config) *Reviews {
	if c.Ask == 0 {
		c.Ask = 15 * time.Second
	}
	if c.WaitFor == 0 {
		c.WaitFor = lifecycle.StayFor
	}
	return &Reviews{Config: c, client: &http.Client{
		Timeout: 15 * time.Second,
		Transport: &http.Transport{
			DialContext: c.Off.Dialer(5 * time.Second).DialContext, TLSHandshakeTimeout: 5 * time.Second,
			MaxResponseHeaderBytes: 64 << 10, MaxIdleConns: 10, IdleConnTimeout: 30 * time.Second,
			ForceAttemptHTTP2: true,
		},
		// The key of the code host goes nowhere else.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// worker is the actor that creates and removes the deployments of reviews.
var worker = access.System("review")

// Run fulfils what rules want until ctx ends. wake yields when a deployment
// changed; nil is looked at every two seconds only.
func (r *Reviews) Run(ctx context.Context, wake <-chan struct{}) error {
	defer r.client.CloseIdleConnections()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	var forget time.Time
	for {
		if err := r.advanceDue(ctx, &forget); err != nil && ctx.Err() == nil {
			r.Log.WarnContext(ctx, "reviews are behind", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-wake:
		case <-tick.C:
		}
	}
}

func (r *Reviews) advanceOne(ctx context.Context, x controlplane.Review) (err error) {
	defer controlplane.CatchPanic(ctx, r.Log, "a review", &err)
	return r.advanceReview(ctx, x)
}

func (r *Reviews) advanceDue(ctx context.Context, forget *time.Time) error {
	fault := r.startDue(ctx)
	var due []controlplane.Review
	err := r.Store.InTx(ctx, func(tx *postgres.Tx) (err error) {
		due, err = tx.Reviews().Claim(ctx, holdFor, atOnce)
		return err
	})
	if err != nil {
		return errors.Join(fault, err)
	}
	errs := []error{fault}
	for _, x := range due {
		errs = append(errs, r.advanceOne(ctx, x))
	}
	errs = append(errs, r.mendAliases(ctx))
	if time.Now().After(*forget) {
		*forget = time.Now().Add(time.Hour)
		errs = append(errs, r.Store.InTx(ctx, func(tx *postgres.Tx) error {
			_, err := tx.Reviews().DeleteOldEvents(ctx, time.Now().Add(-keepFor), 10_000)
			return err
		}))
	}
	return errors.Join(errs...)
}
