package keyring

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/seal"
)

// What the ingress gets. The names are stored.
const (
	ingressIdentity     = "identity"
	ingressCertificates = "certificates"
)

// IngressKeyring seals and opens what the ingress gets, with a key of the ingress's own. It
// opens nothing else: an ingress that has this ring only cannot open what the master keys
// sealed.
type IngressKeyring struct {
	store *postgres.Store
	keys  *seal.Keyring
}

// NewIngressKeyring makes the ring of the ingress's keys.
func NewIngressKeyring(store *postgres.Store, keys *seal.Keyring) *IngressKeyring {
	return &IngressKeyring{store: store, keys: keys}
}

func ingressLocation(name string) seal.Location {
	return seal.Location{Table: "ingress_values", Row: name, Column: "sealed",
		Label: "the ingress's " + name}
}

// LoadOrCreateIdentity returns the ingress's certificate and private key. The first start of a
// control plane creates them, and so does the first one after the ingress's keys were
// replaced by others. It is for the control plane.
func (k *IngressKeyring) LoadOrCreateIdentity(
	ctx context.Context, actor access.Actor, create func() ([]byte, error),
) (identity []byte, err error) {
	if err := RequireSystem(actor); err != nil {
		return nil, err
	}
	err = k.store.InTx(ctx, func(tx *postgres.Tx) error {
		identity, err = k.lockAndOpen(ctx, tx, ingressIdentity)
		if err != nil || identity != nil {
			return err
		}
		if identity, err = create(); err != nil {
			return fmt.Errorf("make the ingress's identity: %w", err)
		}
		return k.put(ctx, tx, ingressIdentity, identity)
	})
	return identity, err
}

// PutCertificates stores what the ingress serves over HTTPS. It is for the control plane.
func (k *IngressKeyring) PutCertificates(
	ctx context.Context, actor access.Actor, content []byte,
) error {
	if err := RequireSystem(actor); err != nil {
		return err
	}
	return k.store.InTx(ctx, func(tx *postgres.Tx) error {
		old, err := k.lockAndOpen(ctx, tx, ingressCertificates)
		if err != nil || bytes.Equal(old, content) && old != nil {
			return err
		}
		return k.put(ctx, tx, ingressCertificates, content)
	})
}

// lockAndOpen returns nil for a value that is not there, and for one that none of the keys
// opens: what it was made of is still there to make it again.
func (k *IngressKeyring) lockAndOpen(
	ctx context.Context, tx *postgres.Tx, name string,
) ([]byte, error) {
	if err := tx.Certificates().LockIngressValues(ctx); err != nil {
		return nil, err
	}
	sealed, err := tx.Certificates().GetIngressValue(ctx, name)
	if err != nil || sealed == nil {
		return nil, err
	}
	content, err := k.keys.Open(ingressLocation(name), sealed)
	if errors.Is(err, seal.ErrUnopened) {
		return nil, nil
	}
	if kid, failed := seal.KidOf(sealed); failed != nil || kid != k.keys.PrimaryKeyID() {
		return content, errors.Join(err, k.put(ctx, tx, name, content))
	}
	return content, err
}

func (k *IngressKeyring) put(
	ctx context.Context, tx *postgres.Tx, name string, content []byte,
) error {
	sealed, err := k.keys.Seal(ingressLocation(name), content)
	if err != nil {
		return fmt.Errorf("seal the ingress's %s: %w", name, err)
	}
	return tx.Certificates().PutIngressValue(ctx, name, sealed)
}

// OpenIdentity opens the ingress's certificate and private key. It is for the ingress.
func (k *IngressKeyring) OpenIdentity(ctx context.Context, actor access.Actor) ([]byte, error) {
	identity, err := k.open(ctx, actor, ingressIdentity)
	if err == nil && identity == nil {
		err = &controlplane.Error{Kind: controlplane.Unavailable, Code: "no_ingress_identity",
			Message: "the control plane has not made the ingress's identity yet",
			Remedy:  "Start the control plane with the same ingress.keys."}
	}
	return identity, err
}

// OpenCertificates opens what the ingress serves over HTTPS; nil before the control plane
// stored it. It is for the ingress.
func (k *IngressKeyring) OpenCertificates(
	ctx context.Context, actor access.Actor,
) ([]byte, error) {
	return k.open(ctx, actor, ingressCertificates)
}

func (k *IngressKeyring) open(
	ctx context.Context, actor access.Actor, name string,
) (content []byte, err error) {
	if err := RequireSystem(actor); err != nil {
		return nil, err
	}
	err = k.store.Read(ctx, func(tx *postgres.Tx) error {
		sealed, err := tx.Certificates().GetIngressValue(ctx, name)
		if err != nil || sealed == nil {
			return err
		}
		content, err = k.keys.Open(ingressLocation(name), sealed)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("open the ingress's %s: %w", name, err)
	}
	return content, nil
}
