package gate

import (
	"context"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// GuestLinkRequest is what a person chooses for a guest link.
type GuestLinkRequest struct {
	Label string
	Life  time.Duration
	// Service is where a guest arrives; empty is the deployment's first.
	Service string
}

const (
	maxGuest = 90 * 24 * time.Hour
	maxRobot = 365 * 24 * time.Hour
)

func (a GuestLinkRequest) check(most time.Duration) error {
	if a.Label == "" || len(a.Label) > 200 {
		return &controlplane.Error{Kind: controlplane.Invalid, Code: "label", Field: "label",
			Message: "a label has 1 to 200 bytes", Remedy: "Say for whom it is."}
	}
	if a.Life < time.Hour || a.Life > most {
		return &controlplane.Error{Kind: controlplane.Invalid, Code: "range", Field: "hours",
			Message: "it has to end", Remedy: "Give one hour or more, at most " +
				(most / (24 * time.Hour) * 24 * time.Hour).String() + "."}
	}
	return nil
}

// CreateGuestLink creates a guest link: its owner may open the deployment until it expires,
// while the gate admits guests. The secret is returned only here.
func (g *Gate) CreateGuestLink(
	ctx context.Context,
	actor access.Actor,
	id controlplane.DeploymentID,
	a GuestLinkRequest,
) (p controlplane.Pass, host string, token controlplane.Plain, err error) {
	e := actor.NewAuditEntry("make guest link", "deployment "+string(id))
	err = g.store.InAuditedTx(ctx, e, func(tx *postgres.Tx) error {
		d, err := readDeployment(ctx, tx, actor, access.WriteDeployment, id)
		if err != nil {
			return err
		}
		describeEntry(e, d, a.Label)
		if err := a.check(maxGuest); err != nil {
			return err
		}
		var ok bool
		if host, ok, err = tx.Hosts().GetMain(ctx, id, a.Service); err != nil || !ok {
			return noHost(err)
		}
		p = g.newPass(controlplane.PassGuest, actor, a)
		p.Environment, p.Deployment = d.EnvironmentID, d.ID
		token, p.Hash = newSecret(guestPrefix)
		return tx.Passes().Insert(ctx, p)
	})
	return p, host, token, err
}

func noHost(err error) error {
	if err != nil {
		return err
	}
	return &controlplane.Error{Kind: controlplane.Invalid, Code: "no_address", Field: "service",
		Message: "no service of that name answers at an address",
		Remedy:  "Name a service with a URL, or none."}
}

func (g *Gate) newPass(
	kind controlplane.PassKind,
	by access.Actor,
	a GuestLinkRequest,
) controlplane.Pass {
	now := g.now()
	return controlplane.Pass{ID: controlplane.NewID[controlplane.PassID](), Kind: kind,
		Label: a.Label, CreatedBy: by.Name(), CreatedAt: now, ExpiresAt: now.Add(a.Life)}
}

// ListGuestLinks lists a deployment's guest links.
func (g *Gate) ListGuestLinks(
	ctx context.Context, actor access.Actor, id controlplane.DeploymentID,
) (all []controlplane.Pass, err error) {
	err = g.store.Read(ctx, func(tx *postgres.Tx) error {
		if _, err := readDeployment(ctx, tx, actor, access.ReadDeployment, id); err != nil {
			return err
		}
		all, err = tx.Passes().ListGuestLinks(ctx, id)
		return err
	})
	return all, err
}

// DeleteGuestLink withdraws a guest link; open connections through it end.
func (g *Gate) DeleteGuestLink(
	ctx context.Context,
	actor access.Actor,
	id controlplane.DeploymentID,
	pass controlplane.PassID,
) error {
	e := actor.NewAuditEntry("withdraw guest link", "deployment "+string(id))
	return g.store.InAuditedTx(ctx, e, func(tx *postgres.Tx) error {
		d, err := readDeployment(ctx, tx, actor, access.WriteDeployment, id)
		if err != nil {
			return err
		}
		describeEntry(e, d, "")
		return removePass(pass, func() (bool, error) {
			return tx.Passes().DeleteGuestLink(ctx, id, pass)
		})
	})
}

func removePass(pass controlplane.PassID, remove func() (bool, error)) error {
	if !controlplane.ValidID(string(pass)) {
		return controlplane.NewNotFoundError("pass", string(pass))
	}
	ok, err := remove()
	if err == nil && !ok {
		err = controlplane.NewNotFoundError("pass", string(pass))
	}
	return err
}

// AddRobot makes a token that opens every deployment of an environment. The
// secret is given once.
func (g *Gate) AddRobot(
	ctx context.Context,
	actor access.Actor,
	environment string,
	a GuestLinkRequest,
) (
	p controlplane.Pass, token controlplane.Plain, err error) {
	err = g.onEnvironment(ctx, actor, "make robot token", environment,
		func(tx *postgres.Tx, e controlplane.Environment) error {
			if err := a.check(maxRobot); err != nil {
				return err
			}
			p = g.newPass(controlplane.PassRobot, actor, a)
			p.Environment = e.ID
			token, p.Hash = newSecret(robotPrefix)
			return tx.Passes().Insert(ctx, p)
		})
	return p, token, err
}

// ListRobots lists an environment's robots.
func (g *Gate) ListRobots(
	ctx context.Context, actor access.Actor, environment string,
) (all []controlplane.Pass, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return nil, err
	}
	err = g.store.Read(ctx, func(tx *postgres.Tx) error {
		e, err := tx.Environments().ByName(ctx, environment)
		if err != nil {
			return err
		}
		all, err = tx.Passes().ListRobots(ctx, e.ID)
		return err
	})
	return all, err
}

// RemoveRobot withdraws a robot's token; open connections through it end.
func (g *Gate) RemoveRobot(ctx context.Context, actor access.Actor, environment string,
	pass controlplane.PassID) error {
	return g.onEnvironment(ctx, actor, "withdraw robot token", environment,
		func(tx *postgres.Tx, e controlplane.Environment) error {
			return removePass(pass, func() (bool, error) {
				return tx.Passes().DeleteRobot(ctx, e.ID, pass)
			})
		})
}

func (g *Gate) onEnvironment(ctx context.Context, actor access.Actor, action, name string,
	fn func(*postgres.Tx, controlplane.Environment) error) error {
	entry := actor.NewAuditEntry(action, "environment "+name)
	return g.store.InAuditedTx(ctx, entry, func(tx *postgres.Tx) error {
		if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
			return err
		}
		e, err := tx.Environments().ByName(ctx, name)
		if err != nil {
			return err
		}
		return fn(tx, e)
	})
}
