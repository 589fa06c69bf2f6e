// Package acme orders certificates from an authority (ACME, RFC 8555) for environments that ask for
// it, and orders them again before they end. It uses certmagic's name server checks and the ACME
// engine below it; accounts, keys, certificates and challenges are in PostgreSQL, so that any
// replica continues where another one stopped.
//
// With dns-01 an environment gets wildcards: one for its flat hosts, one for
// its deployments' short hosts, and one for each deployment's services. With
// http-01 each deployment gets one certificate that names its hosts; the
// ingress answers the authority. A host without one is served as before.
//
// It never asks faster than authorities allow: first certificates are counted
// per domain and week, a try that failed waits longer each time, and what an
// authority said is kept where people look.
package acme

import (
	"context"
	"log/slog"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/certificates"
	"github.com/nullops/nullops/controlplane/postgres"
)

const (
	// tick makes up for a lost wake-up, and finds what is due.
	tick = time.Minute
	// orderLife bounds one order; a claim outlives it, so that no two replicas
	// order one certificate at a time.
	orderLife, claimLife = 5 * time.Minute, 10 * time.Minute
)

// Config is what ordering needs.
type Config struct {
	Store        *postgres.Store
	Certificates *certificates.Certificates
	// UIHost gets a certificate of its own from the environment in whose domain it is; empty is none.
	UIHost string
	// Off is where no directory and no name server may be.
	Off controlplane.OffLimits
	// Subscribe hears of commits; the function ends that.
	Subscribe func(key string, topics ...controlplane.Topic) (wake <-chan struct{}, stop func())
	Log       *slog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Patience is how long an authority may take for its directory; zero means
	// twenty seconds.
	Patience time.Duration
}

// Orderer is the door: Run orders.
type Orderer struct {
	Config
	actor access.Actor
}

// New makes one.
func New(c Config) *Orderer {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Patience == 0 {
		c.Patience = 20 * time.Second
	}
	return &Orderer{Config: c, actor: access.System("certificates")}
}

// Run orders what is due, until ctx ends.
func (o *Orderer) Run(ctx context.Context) error {
	wake, stop := o.Subscribe("", controlplane.TopicCatalog, controlplane.TopicDeployment)
	defer stop()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	workers := newWorkers(o)
	defer workers.running.Wait()
	for {
		due, err := o.updateWanted(ctx)
		if err != nil && ctx.Err() == nil {
			o.Log.WarnContext(ctx, "certificates not ordered, trying again", "error", err)
		}
		for _, z := range due {
			workers.startWorker(ctx, z)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-wake:
		case <-ticker.C:
		}
	}
}

// updateWanted updates the table of wanted certificates, and returns the environments
// in which some are due. Expired and unwanted ones are deleted.
func (o *Orderer) updateWanted(ctx context.Context) (due []controlplane.ACMEZone, err error) {
	return due, o.Store.InTx(ctx, func(tx *postgres.Tx) error {
		zones, err := tx.ACME().ListZones(ctx)
		if err != nil {
			return err
		}
		hosts, err := tx.ACME().ListHosts(ctx)
		if err != nil {
			return err
		}
		if err := tx.ACME().SetWantedCertificates(ctx, wantedCertificates(zones, hosts, o.UIHost),
			o.Now()); err != nil {
			return err
		}
		all, err := tx.ACME().ListCertificates(ctx, "")
		if err != nil {
			return err
		}
		due = dueIn(zones, all, o.Now())
		return o.deleteExpired(ctx, tx, all)
	})
}

func (o *Orderer) deleteExpired(
	ctx context.Context, tx *postgres.Tx, all []controlplane.ACMECertificate,
) error {
	for _, c := range all {
		if !c.Wanted && (c.Chain == "" || o.Now().After(c.NotAfter)) {
			if err := tx.ACME().DeleteCertificate(ctx, c.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// attemptOrder orders one and stores the result.
func (o *Orderer) attemptOrder(
	ctx context.Context, z controlplane.ACMEZone, c controlplane.ACMECertificate,
) error {
	wait, err := o.weeklyLimitUntil(ctx, z, c)
	if err != nil {
		return err
	}
	if !wait.IsZero() {
		c.Error, c.NextTry = fullWeek(registeredDomain(z.Domain)), wait
		return o.storeNextTry(ctx, c)
	}
	try, cancel := context.WithTimeout(ctx, orderLife)
	defer cancel()
	failed := o.orderCertificate(try, &c)
	if failed == nil || ctx.Err() != nil {
		return nil // the next process continues
	}
	c.Failures++
	c.Error = clipError(failed.Error())
	c.NextTry = o.Now().Add(retryDelay(c.Failures, failed))
	o.Log.WarnContext(ctx, "certificate not ordered", "subject", c.Subject, "error", c.Error,
		"failures", c.Failures, "retry_at", c.NextTry)
	return o.storeNextTry(ctx, c)
}

func (o *Orderer) storeNextTry(ctx context.Context, c controlplane.ACMECertificate) error {
	return o.Store.InTx(ctx, func(tx *postgres.Tx) error {
		return tx.ACME().RecordFailedOrder(ctx, c)
	})
}

// weeklyLimitUntil returns until when a first certificate has to wait for the weekly
// limit, zero if it need not.
func (o *Orderer) weeklyLimitUntil(
	ctx context.Context, z controlplane.ACMEZone, c controlplane.ACMECertificate,
) (until time.Time, err error) {
	if c.FirstAt != nil {
		return until, nil // authorities do not count renewals
	}
	err = o.Store.Read(ctx, func(tx *postgres.Tx) error {
		counts, err := tx.ACME().CountFirstCertificates(ctx, o.Now().Add(-week))
		if err == nil && countUnder(registeredDomain(z.Domain), counts) >= mostPerWeek {
			until = o.Now().Add(6 * time.Hour)
		}
		return err
	})
	return until, err
}
