package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
)

// Get loads how an environment orders certificates; ok is false if it does not.
func (t ACME) Get(
	ctx context.Context, id controlplane.EnvironmentID,
) (a controlplane.ACME, ok bool, err error) {
	r, err := t.q.GetACMESettings(ctx, string(id))
	if errors.Is(err, pgx.ErrNoRows) {
		return a, false, nil
	}
	if err != nil {
		return a, false, fmt.Errorf("load ACME settings: %w", err)
	}
	return controlplane.ACME{Challenge: controlplane.Challenge(r.Challenge),
		Directory: r.Directory, Email: r.Email, Roots: r.Roots,
		DNS: controlplane.NameServer(r.Dns), DNSServer: r.DnsServer, DNSUser: r.DnsUser,
		DNSSecret: r.DnsSecret, EABKeyID: r.EabKeyID, EABKey: r.EabKey}, true, nil
}

// LockAuthority returns the authority that an environment orders from, and locks
// it until the transaction ends; ok is false if the environment orders no
// certificates.
func (t ACME) LockAuthority(
	ctx context.Context, id controlplane.EnvironmentID,
) (directory, roots string, ok bool, err error) {
	r, err := t.q.LockACMEAuthority(ctx, string(id))
	if errors.Is(err, pgx.ErrNoRows) {
		return "", "", false, nil
	}
	if err != nil {
		return "", "", false, fmt.Errorf("lock ACME settings: %w", err)
	}
	return r.Directory, r.Roots, true, nil
}

// Put stores it as a whole.
func (t ACME) Put(
	ctx context.Context, id controlplane.EnvironmentID, a controlplane.ACME,
) error {
	err := t.q.PutACMESettings(ctx, dbsqlc.PutACMESettingsParams{EnvironmentID: string(id),
		Challenge: string(a.Challenge), Directory: a.Directory, Email: a.Email, Roots: a.Roots,
		Dns: string(a.DNS), DnsServer: a.DNSServer, DnsUser: a.DNSUser, DnsSecret: a.DNSSecret,
		EabKeyID: a.EABKeyID, EabKey: a.EABKey})
	if err != nil {
		return fmt.Errorf("store ACME settings: %w", translateError(err))
	}
	t.tx.NotifyOnCommit(controlplane.TopicCatalog, "")
	return nil
}

// Delete ends ordering; gone is false if there was none.
func (t ACME) Delete(
	ctx context.Context, id controlplane.EnvironmentID,
) (gone bool, err error) {
	n, err := t.q.DeleteACMESettings(ctx, string(id))
	if err != nil {
		return false, fmt.Errorf("delete ACME settings: %w", translateError(err))
	}
	t.tx.NotifyOnCommit(controlplane.TopicCatalog, "")
	return n == 1, nil
}

// ListZones lists the environments that order certificates.
func (t ACME) ListZones(ctx context.Context) ([]controlplane.ACMEZone, error) {
	rows, err := t.q.ListACMEZones(ctx)
	if err != nil {
		return nil, fmt.Errorf("list ACME environments: %w", err)
	}
	all := make([]controlplane.ACMEZone, len(rows))
	for i, r := range rows {
		all[i] = controlplane.ACMEZone{Environment: controlplane.EnvironmentID(r.ID),
			Name: r.Name, Domain: r.Domain, Challenge: controlplane.Challenge(r.Challenge),
			Directory: r.Directory}
	}
	return all, nil
}

// ListHosts lists the addresses in them, those of one deployment together.
func (t ACME) ListHosts(ctx context.Context) ([]controlplane.ACMEHost, error) {
	rows, err := t.q.ListACMEHosts(ctx)
	if err != nil {
		return nil, fmt.Errorf("list hosts for ACME: %w", err)
	}
	all := make([]controlplane.ACMEHost, len(rows))
	for i, r := range rows {
		all[i] = controlplane.ACMEHost{Environment: controlplane.EnvironmentID(r.EnvironmentID),
			Deployment: r.Deployment, Host: r.Host}
	}
	return all, nil
}

// ListCertificates lists those of one environment, or all for an empty id.
func (t ACME) ListCertificates(
	ctx context.Context, id controlplane.EnvironmentID,
) ([]controlplane.ACMECertificate, error) {
	var rows []dbsqlc.AcmeCertificate
	var err error
	if id == "" {
		rows, err = t.q.ListACMECertificates(ctx)
	} else {
		rows, err = t.q.ListACMECertificatesOf(ctx, string(id))
	}
	if err != nil {
		return nil, fmt.Errorf("list ordered certificates: %w", err)
	}
	all := make([]controlplane.ACMECertificate, len(rows))
	for i, r := range rows {
		if all[i], err = acmeCertificate(r); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func acmeCertificate(r dbsqlc.AcmeCertificate) (controlplane.ACMECertificate, error) {
	c := controlplane.ACMECertificate{ID: controlplane.CertificateID(r.ID),
		Environment: controlplane.EnvironmentID(r.EnvironmentID), Subject: r.Subject,
		Names: r.Names, Wanted: r.Wanted, Chain: r.Chain, Key: r.Key, Failures: int(r.Failures),
		Error: r.Error, FirstAt: r.FirstAt, TriedAt: r.TriedAt, NextTry: r.NextTry}
	if c.Chain == "" {
		return c, nil
	}
	all, err := controlplane.ReadCertificates(c.Chain)
	if err != nil {
		return c, fmt.Errorf("ordered certificate %s: %w", c.Subject, err)
	}
	c.CertificateFacts = controlplane.ReadCertificateFacts(all[0])
	return c, nil
}

// SetWantedCertificates stores which certificates are wanted; the others are not renewed.
func (t ACME) SetWantedCertificates(
	ctx context.Context, wanted []controlplane.ACMECertificate, now time.Time,
) error {
	keys := make([]string, len(wanted))
	for i, c := range wanted {
		keys[i] = string(c.Environment) + " " + c.Subject
		if err := t.q.WantACMECertificate(ctx, dbsqlc.WantACMECertificateParams{ID: string(c.ID),
			EnvironmentID: string(c.Environment), Subject: c.Subject, Names: c.Names, Now: now,
		}); err != nil {
			return fmt.Errorf("want certificate %s: %w", c.Subject, translateError(err))
		}
	}
	if err := t.q.UnwantACMECertificates(ctx, keys); err != nil {
		return fmt.Errorf("want certificates no more: %w", err)
	}
	return nil
}

// ClaimCertificate returns a certificate of an environment that is due, and hides it from
// other control planes until the given time; ok is false if none is due.
func (t ACME) ClaimCertificate(
	ctx context.Context, id controlplane.EnvironmentID, now, until time.Time,
) (c controlplane.ACMECertificate, ok bool, err error) {
	r, err := t.q.ClaimACMECertificate(ctx, until, &now, string(id))
	if errors.Is(err, pgx.ErrNoRows) {
		return c, false, nil
	}
	if err != nil {
		return c, false, fmt.Errorf("claim a certificate to order: %w", err)
	}
	c, err = acmeCertificate(r)
	return c, err == nil, err
}

// CountFirstCertificates counts the first certificates since then by environments' domains.
func (t ACME) CountFirstCertificates(ctx context.Context, since time.Time) (map[string]int, error) {
	rows, err := t.q.CountNewACMECertificates(ctx, &since)
	if err != nil {
		return nil, fmt.Errorf("count new certificates: %w", err)
	}
	all := make(map[string]int, len(rows))
	for _, r := range rows {
		all[r.Domain] = int(r.Count)
	}
	return all, nil
}

// RecordFailedOrder stores a try that failed or has to wait: its Failures, Error, NextTry.
func (t ACME) RecordFailedOrder(ctx context.Context, c controlplane.ACMECertificate) error {
	if err := t.q.HoldACMECertificate(ctx, dbsqlc.HoldACMECertificateParams{ID: string(c.ID),
		Failures: int32(c.Failures), Error: c.Error, NextTry: c.NextTry}); err != nil {
		return fmt.Errorf("store try of %s: %w", c.Subject, err)
	}
	return nil
}

// RecordOrder stores a try that succeeded: its Chain, Key and NextTry.
func (t ACME) RecordOrder(
	ctx context.Context, c controlplane.ACMECertificate, now time.Time,
) error {
	if err := t.q.StoreACMECertificate(ctx, dbsqlc.StoreACMECertificateParams{ID: string(c.ID),
		Chain: c.Chain, Key: c.Key, NextTry: c.NextTry, Now: &now}); err != nil {
		return fmt.Errorf("store certificate of %s: %w", c.Subject, translateError(err))
	}
	t.tx.NotifyOnCommit(controlplane.TopicCatalog, "")
	return nil
}

// RetryFailed makes what failed in an environment due now.
func (t ACME) RetryFailed(
	ctx context.Context, id controlplane.EnvironmentID, now time.Time,
) error {
	if err := t.q.RetryACMECertificates(ctx, now, string(id)); err != nil {
		return fmt.Errorf("retry certificates: %w", err)
	}
	t.tx.NotifyOnCommit(controlplane.TopicCatalog, "")
	return nil
}

// RenewAll makes all certificates of an environment due now, as first ones.
func (t ACME) RenewAll(
	ctx context.Context, id controlplane.EnvironmentID, now time.Time,
) error {
	if err := t.q.RenewACMECertificates(ctx, now, string(id)); err != nil {
		return fmt.Errorf("order certificates anew: %w", err)
	}
	t.tx.NotifyOnCommit(controlplane.TopicCatalog, "")
	return nil
}

// DeleteCertificate deletes a certificate unless it is wanted.
func (t ACME) DeleteCertificate(ctx context.Context, id controlplane.CertificateID) error {
	if err := t.q.DeleteACMECertificate(ctx, string(id)); err != nil {
		return fmt.Errorf("delete ordered certificate: %w", err)
	}
	return nil
}
