package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
)

// List lists what the ingress serves.
func (t Certificates) List(ctx context.Context) ([]controlplane.Certificate, error) {
	rows, err := t.q.ListCertificates(ctx)
	if err != nil {
		return nil, fmt.Errorf("list certificates: %w", err)
	}
	all := make([]controlplane.Certificate, len(rows))
	for i, r := range rows {
		if all[i], err = toCertificate(r); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// ByName loads one.
func (t Certificates) ByName(
	ctx context.Context, name string,
) (c controlplane.Certificate, err error) {
	r, err := t.q.GetCertificate(ctx, name)
	if errors.Is(err, pgx.ErrNoRows) {
		return c, controlplane.NewNotFoundError("certificate", name)
	}
	if err != nil {
		return c, fmt.Errorf("load certificate %s: %w", name, err)
	}
	return toCertificate(r)
}

func toCertificate(r dbsqlc.Certificate) (controlplane.Certificate, error) {
	c := controlplane.Certificate{ID: controlplane.CertificateID(r.ID), Name: r.Name,
		Chain: r.Chain, Key: r.Key, CreatedBy: r.CreatedBy, CreatedAt: r.CreatedAt}
	all, err := controlplane.ReadCertificates(r.Chain)
	if err != nil {
		return c, fmt.Errorf("certificate %s: %w", r.Name, err)
	}
	c.CertificateFacts = controlplane.ReadCertificateFacts(all[0])
	return c, nil
}

// Put stores one as a whole.
func (t Certificates) Put(ctx context.Context, c controlplane.Certificate) error {
	err := t.q.PutCertificate(ctx, dbsqlc.PutCertificateParams{ID: string(c.ID), Name: c.Name,
		Chain: c.Chain, Key: c.Key, CreatedBy: c.CreatedBy, CreatedAt: c.CreatedAt})
	if err != nil {
		return fmt.Errorf("store certificate %s: %w", c.Name, translateError(err))
	}
	t.tx.NotifyOnCommit(controlplane.TopicCatalog, "")
	return nil
}

// Delete removes one.
func (t Certificates) Delete(ctx context.Context, name string) error {
	n, err := t.q.DeleteCertificate(ctx, name)
	if err != nil {
		return fmt.Errorf("delete certificate %s: %w", name, translateError(err))
	}
	if n == 0 {
		return controlplane.NewNotFoundError("certificate", name)
	}
	t.tx.NotifyOnCommit(controlplane.TopicCatalog, "")
	return nil
}

// GetAuthority loads the internal certificate authority; ok is false without one.
func (t Certificates) GetAuthority(ctx context.Context) (a controlplane.Authority, ok bool,
	err error) {
	r, err := t.q.GetAuthority(ctx)
	if errors.Is(err, pgx.ErrNoRows) {
		return a, false, nil
	}
	if err != nil {
		return a, false, fmt.Errorf("load certificate authority: %w", err)
	}
	a = controlplane.Authority{ID: controlplane.CertificateID(r.ID), Certificate: r.Certificate,
		Key: r.Key, CreatedBy: r.CreatedBy, CreatedAt: r.CreatedAt}
	all, err := controlplane.ReadCertificates(r.Certificate)
	if err != nil {
		return a, false, fmt.Errorf("certificate authority: %w", err)
	}
	a.CertificateFacts = controlplane.ReadCertificateFacts(all[0])
	return a, true, nil
}

// InsertAuthority stores the only one there may be; made is false if there is
// one already.
func (t Certificates) InsertAuthority(
	ctx context.Context, a controlplane.Authority,
) (made bool, err error) {
	n, err := t.q.InsertAuthority(ctx, dbsqlc.InsertAuthorityParams{ID: string(a.ID),
		Certificate: a.Certificate, Key: a.Key, CreatedBy: a.CreatedBy, CreatedAt: a.CreatedAt})
	if err != nil {
		return false, fmt.Errorf("store certificate authority: %w", translateError(err))
	}
	t.tx.NotifyOnCommit(controlplane.TopicCatalog, "")
	return n == 1, nil
}

// DeleteAuthority forgets the authority's key; gone is false if there is none.
func (t Certificates) DeleteAuthority(ctx context.Context) (gone bool, err error) {
	n, err := t.q.DeleteAuthority(ctx)
	if err != nil {
		return false, fmt.Errorf("delete certificate authority: %w", translateError(err))
	}
	t.tx.NotifyOnCommit(controlplane.TopicCatalog, "")
	return n == 1, nil
}

// GetIdentity returns the control plane's certificate and its sealed key. ok is false before the
// first start.
func (t Certificates) GetIdentity(
	ctx context.Context,
) (certificate []byte, key controlplane.Sealed, ok bool, err error) {
	r, err := t.q.GetIdentity(ctx)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil, false, nil
	}
	if err != nil {
		return nil, nil, false, fmt.Errorf("load identity: %w", err)
	}
	return r.Certificate, r.Key, true, nil
}

// InsertIdentity stores the certificate and its sealed key, unless there is one
// already.
func (t Certificates) InsertIdentity(
	ctx context.Context, certificate []byte, key controlplane.Sealed,
) error {
	if _, err := t.q.InsertIdentity(ctx, certificate, key); err != nil {
		return fmt.Errorf("store identity: %w", translateError(err))
	}
	return nil
}

// LockIngressValues keeps other control planes from changing what the ingress gets, until
// the transaction ends.
func (t Certificates) LockIngressValues(ctx context.Context) error {
	if err := t.q.LockIngressValues(ctx); err != nil {
		return fmt.Errorf("lock what the ingress gets: %w", err)
	}
	return nil
}

// GetIngressValue returns one value that is sealed for the ingress; nil if there is none.
func (t Certificates) GetIngressValue(
	ctx context.Context, name string,
) (controlplane.Sealed, error) {
	sealed, err := t.q.GetIngressValue(ctx, name)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("load the ingress's %s: %w", name, err)
	}
	return sealed, nil
}

// PutIngressValue stores one value that is sealed for the ingress, and notifies the ingress.
func (t Certificates) PutIngressValue(
	ctx context.Context, name string, sealed controlplane.Sealed,
) error {
	if err := t.q.PutIngressValue(ctx, name, sealed); err != nil {
		return fmt.Errorf("store the ingress's %s: %w", name, translateError(err))
	}
	t.tx.NotifyOnCommit(controlplane.TopicCatalog, "")
	return nil
}
