// Package accounts is about people: users, teams, signing in, sessions and
// API tokens. It turns what a request carries into an access.Actor.
//
// Passwords are kept as argon2id hashes, sessions and tokens as SHA-256 of
// 256 random bits: reading the database signs nobody in. Guessing is slowed
// per person and per address, hashing is limited to what memory allows, and
// a wrong name costs as much time as a wrong password and says the same.
package accounts

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"time"

	"github.com/alexedwards/argon2id"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/keyring"
	"github.com/nullops/nullops/controlplane/postgres"
)

// How long a session lasts.
const (
	// SessionIdle ends a session that was not used for so long.
	SessionIdle = 12 * time.Hour
	// SessionLife ends every session.
	SessionLife = 7 * 24 * time.Hour
)

// Config is what accounts need.
type Config struct {
	Store *postgres.Store
	Log   *slog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// MemoryKiB, Iterations and Parallelism are argon2id's; all zero means the
	// memory and passes of RFC 9106's second recommendation, 64 MiB and 3, in one
	// lane: four would hold all processors of a small machine for each guess.
	MemoryKiB   uint32
	Iterations  uint32
	Parallelism uint8
	// Mails says that mails can be sent: people hear when their credentials change.
	Mails bool
	// Breached is a file of breached passwords (see isBreached); empty is none.
	Breached string
	// Keys seal the seeds of authenticator apps.
	Keys *keyring.Keyring
	// URL is where people sign in; passkeys are bound to its host name.
	URL *url.URL
	// SecondFactor is who must have one, besides the members of teams that require it.
	SecondFactor FactorRule
}

// FactorRule is who must have a second factor, of all who sign in with a password.
type FactorRule string

// The rules; empty is nobody.
const (
	FactorOfAdmins   FactorRule = "admins"
	FactorOfEveryone FactorRule = "everyone"
)

func (r FactorRule) check() error {
	switch r {
	case "", FactorOfAdmins, FactorOfEveryone:
		return nil
	default:
		return fmt.Errorf("setting passwords.secondfactor: %q is neither admins nor everyone", r)
	}
}

func (r FactorRule) includes(u controlplane.User) bool {
	return r == FactorOfEveryone || r == FactorOfAdmins && u.Role == controlplane.RoleAdmin
}

// Accounts is the door to everything about people. It is safe for concurrent
// use.
type Accounts struct {
	store  *postgres.Store
	log    *slog.Logger
	now    func() time.Time
	hasher *hasher
	limits *limits
	views  viewAsLog
	serial chan struct{}
	// breached is the file that new passwords are looked up in.
	breached string
	mails    bool
	keys     *keyring.Keyring
	site     site
	// factorRule is Config.SecondFactor.
	factorRule FactorRule
}

// New makes the accounts. Parameters that no password can be hashed with are an
// error.
func New(c Config) (*Accounts, error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	params := &argon2id.Params{
		Memory: c.MemoryKiB, Iterations: c.Iterations, Parallelism: c.Parallelism,
		SaltLength: 16, KeyLength: 32,
	}
	if c.MemoryKiB == 0 {
		params.Memory, params.Iterations, params.Parallelism = 64<<10, 3, 1
	}
	h, err := newHasher(params)
	if err != nil {
		return nil, err
	}
	if c.Breached != "" {
		if _, err := os.Stat(c.Breached); err != nil {
			return nil, fmt.Errorf("setting passwords.breached: %w", err)
		}
	}
	if err := c.SecondFactor.check(); err != nil {
		return nil, err
	}
	home, err := newSite(c.URL)
	if err != nil {
		return nil, err
	}
	return &Accounts{
		store: c.Store, log: c.Log, now: c.Now, hasher: h, limits: newLimits(),
		serial: make(chan struct{}, serials), breached: c.Breached,
		mails: c.Mails, keys: c.Keys, site: home, factorRule: c.SecondFactor,
	}, nil
}

// EnsureFirstAdmin makes an admin of the given name with a random password if
// there is no user at all. The password is returned this once.
func (a *Accounts) EnsureFirstAdmin(
	ctx context.Context, actor access.Actor, name string,
) (password controlplane.Plain, created bool, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return password, false, err
	}
	if err := controlplane.ValidName("name", name); err != nil {
		return password, false, err
	}
	err = a.store.InTx(ctx, func(tx *postgres.Tx) error {
		created = false
		nobody, err := tx.Users().IsEmpty(ctx)
		if err != nil || !nobody {
			return err
		}
		password = controlplane.NewPlain(randomText(24))
		hash, err := a.hasher.hashPassword(ctx, password)
		if err != nil {
			return err
		}
		u := controlplane.User{
			ID: controlplane.NewID[controlplane.UserID](), Name: name,
			DisplayName: "First admin", Role: controlplane.RoleAdmin, Active: true,
		}
		if err := tx.Users().Insert(ctx, u, hash); err != nil {
			return err
		}
		created = true
		e := actor.NewAuditEntry("create user", "user "+name)
		e.Result, e.Detail = controlplane.AuditOK, "first admin"
		return tx.Audit().Insert(ctx, *e)
	})
	if err != nil {
		return controlplane.Plain{}, false, fmt.Errorf("first admin: %w", err)
	}
	return password, created, nil
}

// forgetAtOnce bounds one transaction's deletes, so that it holds locks only briefly.
const forgetAtOnce = 500

// DeleteExpired deletes sessions that are expired or idle, and browsers that were not used
// for DeviceLife.
func (a *Accounts) DeleteExpired(ctx context.Context, actor access.Actor) error {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return err
	}
	for deleted := forgetAtOnce; deleted == forgetAtOnce; {
		now := a.now()
		err := a.store.InTx(ctx, func(tx *postgres.Tx) (err error) {
			deleted, err = tx.Sessions().DeleteExpired(ctx, now.Add(-SessionIdle), now,
				forgetAtOnce)
			if err != nil {
				return err
			}
			links, err := tx.Links().DeleteExpired(ctx, now, forgetAtOnce)
			if err != nil {
				return err
			}
			devices, err := tx.Devices().DeleteOld(ctx, now.Add(-DeviceLife), forgetAtOnce)
			if err != nil {
				return err
			}
			err = tx.Factors().DeleteUnconfirmed(ctx, "", now.Add(-unconfirmedLife))
			if err != nil {
				return err
			}
			challenges, err := tx.Factors().DeleteOldChallenges(ctx, now, forgetAtOnce)
			if err != nil {
				return err
			}
			// A program that polls a little longer is told that its time is over.
			logins, err := tx.DeviceLogins().DeleteOld(ctx, now.Add(-deviceLoginLife), forgetAtOnce)
			deleted = max(deleted, links, devices, challenges, logins)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
