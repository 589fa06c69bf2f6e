package accounts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// DeviceLife is how long a browser stays known after its last sign-in.
const DeviceLife = 180 * 24 * time.Hour

// allowPassword uses up one try at a person's password. When others have used up the ordinary
// limits, a browser or a network that the person signed in from before has a limit of its own:
// guesses of others must not lock out the owner of the password.
func (a *Accounts) allowPassword(
	ctx context.Context, actor access.Actor, name string,
) (refund func(), err error) {
	network := networkOf(actor.RemoteAddress())
	refund, refusal := a.limits.takePassword(name, network, a.now())
	if refusal == nil {
		return refund, nil
	}
	known, err := a.knowsDevice(ctx, actor, name)
	if err != nil {
		return nil, err
	}
	if known {
		return a.limits.takeKnown("device "+deviceName(actor)+" "+name, a.now())
	}
	if known, err = a.knowsNetwork(ctx, name, network); err != nil {
		return nil, err
	}
	if known {
		return a.limits.takeKnown("network "+network+" "+name, a.now())
	}
	return nil, refusal
}

// allowAnybody uses up one try of a caller who has not said who they are. A browser that was signed
// in before has a limit of its own.
func (a *Accounts) allowAnybody(
	ctx context.Context, actor access.Actor,
) (refund func(), err error) {
	refund, refusal := a.limits.takeNetwork(networkOf(actor.RemoteAddress()), a.now())
	if refusal == nil {
		return refund, nil
	}
	known, err := a.knowsDevice(ctx, actor, "")
	if err != nil {
		return nil, err
	}
	if known {
		return a.limits.takeKnown("device "+deviceName(actor), a.now())
	}
	return nil, refusal
}

// AllowEnrolment uses up one try of a machine at a provisioning token. refund returns it, once the
// token was right.
func (a *Accounts) AllowEnrolment(actor access.Actor) (refund func(), err error) {
	return a.limits.takeEnrolment(networkOf(actor.RemoteAddress()), a.now())
}

// knowsDevice reports whether the person signed in with this browser before; with
// an empty name, whether anybody did.
func (a *Accounts) knowsDevice(
	ctx context.Context, actor access.Actor, name string,
) (known bool, err error) {
	if actor.DeviceKey().IsEmpty() {
		return false, nil
	}
	err = a.store.Read(ctx, func(tx *postgres.Tx) (err error) {
		known, err = tx.Devices().IsKnown(ctx, hashDeviceKey(actor), name, a.now().Add(-DeviceLife))
		return err
	})
	return known, err
}

// knowsNetwork reports whether the person has a session that began in this
// network.
func (a *Accounts) knowsNetwork(
	ctx context.Context, name, network string,
) (known bool, err error) {
	if controlplane.ValidName("user", name) != nil {
		return false, nil
	}
	now := a.now()
	err = a.store.Read(ctx, func(tx *postgres.Tx) error {
		u, err := tx.Users().ByName(ctx, name)
		if controlplane.KindOf(err) == controlplane.NotFound {
			return nil
		}
		if err != nil {
			return err
		}
		sessions, err := tx.Sessions().List(ctx, u.ID, now.Add(-SessionIdle), now)
		for _, s := range sessions {
			known = known || networkOf(s.From) == network
		}
		return err
	})
	return known, err
}

// touchDevice notes that the person signed in with the actor's browser, if that
// sent a key that we made.
func (a *Accounts) touchDevice(
	ctx context.Context, tx *postgres.Tx, actor access.Actor, user controlplane.UserID,
) error {
	if actor.DeviceKey().IsEmpty() {
		return nil
	}
	now, hash := a.now(), hashDeviceKey(actor)
	ours, err := tx.Devices().IsKnown(ctx, hash, "", now.Add(-DeviceLife))
	if err != nil || !ours {
		return err
	}
	return tx.Devices().Put(ctx, hash, user, now)
}

// RememberDevice makes a key for the browser of a signed-in person, which it keeps
// for DeviceLife, also after signing out. The key is empty when there is nothing
// to keep: the browser has one that is known, or no person uses the session.
func (a *Accounts) RememberDevice(
	ctx context.Context, actor access.Actor,
) (key controlplane.Plain, err error) {
	if actor.Session() == "" || actor.Viewer() != "" {
		return key, nil
	}
	known, err := a.knowsDevice(ctx, actor, actor.Name())
	if err != nil || known {
		return key, err
	}
	actor = actor.WithDeviceKey(controlplane.NewPlain(randomBits()))
	err = a.store.InTx(ctx, func(tx *postgres.Tx) error {
		return tx.Devices().Put(ctx, hashDeviceKey(actor), actor.UserID(), a.now())
	})
	return actor.DeviceKey(), err
}

func hashDeviceKey(actor access.Actor) [32]byte {
	return sha256.Sum256([]byte(actor.DeviceKey().Reveal()))
}

// deviceName names a browser in the limits, without its key.
func deviceName(actor access.Actor) string {
	hash := hashDeviceKey(actor)
	return hex.EncodeToString(hash[:])
}
