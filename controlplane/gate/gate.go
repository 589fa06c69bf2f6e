// Package gate decides who may open deployments at the ingress, and issues the passes
// for that. It keeps the rules and the passes; the ingress asks.
//
// A signed-in person is redirected to a host with a code that works once, only there,
// and within a minute. It is exchanged for a visit: a pass that is valid as long as
// their session and their access to the deployment. A guest has a link to one
// deployment, with an expiry. A robot has a token for a whole environment, sent in a
// header. Only hashes of these secrets are stored. A deployment's own gate can only be
// stricter than its environment's.
package gate

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

const (
	codeLife  = time.Minute
	visitLife = 12 * time.Hour
)

// Gate is the door to the rules. It is safe for concurrent use.
type Gate struct {
	store *postgres.Store
	now   func() time.Time
}

// New makes a gate; now is the clock, nil means time.Now.
func New(store *postgres.Store, now func() time.Time) *Gate {
	if now == nil {
		now = time.Now
	}
	return &Gate{store: store, now: now}
}

// IngressConfig returns what the ingress shows and asks for.
func (g *Gate) IngressConfig(
	ctx context.Context, actor access.Actor,
) (f controlplane.IngressConfig, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return f, err
	}
	err = g.store.Read(ctx, func(tx *postgres.Tx) (err error) {
		f, err = tx.Gates().GetIngressConfig(ctx)
		return err
	})
	return f, err
}

// Environment returns an environment's gate.
func (g *Gate) Environment(
	ctx context.Context, actor access.Actor, name string,
) (out controlplane.EnvironmentGate, err error) {
	if err := access.Check(actor, access.Self, access.Object{}); err != nil {
		return out, err
	}
	err = g.store.Read(ctx, func(tx *postgres.Tx) error {
		e, err := tx.Environments().ByName(ctx, name)
		if err == nil && !access.CanSeeEnvironment(actor, e.ID, e.Restricted) {
			err = controlplane.NewNotFoundError("environment", name)
		}
		if err != nil {
			return err
		}
		out, err = tx.Gates().GetForEnvironment(ctx, e.ID)
		return err
	})
	return out, err
}

// SetEnvironment changes an environment's gate.
func (g *Gate) SetEnvironment(
	ctx context.Context, actor access.Actor, name string, p controlplane.EnvironmentGate,
) error {
	e := actor.NewAuditEntry("set gate", "environment "+name)
	return g.store.InAuditedTx(ctx, e, func(tx *postgres.Tx) error {
		if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
			return err
		}
		env, err := tx.Environments().ByName(ctx, name)
		if err != nil {
			return err
		}
		if !p.Gate.IsValid() {
			return unknownMode()
		}
		e.Detail = string(p.Gate)
		return tx.Gates().PutForEnvironment(ctx, env.ID, p)
	})
}

func unknownMode() error {
	return &controlplane.Error{Kind: controlplane.Invalid, Code: "gate_unknown", Field: "gate",
		Message: "this is not a gate", Remedy: "Use open, guests or members."}
}

// DeploymentGate is a deployment's own gate, its environment's, and what
// comes of both.
type DeploymentGate struct {
	Own, Environment, Effective controlplane.GateMode
}

// Deployment returns a deployment's gate.
func (g *Gate) Deployment(
	ctx context.Context, actor access.Actor, id controlplane.DeploymentID,
) (out DeploymentGate, err error) {
	err = g.store.Read(ctx, func(tx *postgres.Tx) error {
		d, err := readDeployment(ctx, tx, actor, access.ReadDeployment, id)
		if err != nil {
			return err
		}
		out, err = gateOf(ctx, tx, d)
		return err
	})
	return out, err
}

func gateOf(
	ctx context.Context, tx *postgres.Tx, d controlplane.Deployment,
) (out DeploymentGate, err error) {
	if out.Own, err = tx.Gates().GetForDeployment(ctx, d.ID); err != nil {
		return out, err
	}
	env, err := tx.Gates().GetForEnvironment(ctx, d.EnvironmentID)
	out.Environment = env.Gate
	out.Effective = out.Own.Stricter(env.Gate)
	return out, err
}

// SetDeployment changes a deployment's own gate. One that is more open than the
// environment's would have no effect, so it is refused.
func (g *Gate) SetDeployment(
	ctx context.Context, actor access.Actor, id controlplane.DeploymentID,
	mode controlplane.GateMode,
) (out DeploymentGate, err error) {
	e := actor.NewAuditEntry("set gate", "deployment "+string(id))
	err = g.store.InAuditedTx(ctx, e, func(tx *postgres.Tx) error {
		d, err := readDeployment(ctx, tx, actor, access.WriteDeployment, id)
		if err != nil {
			return err
		}
		describeEntry(e, d, string(mode))
		env, err := tx.Gates().GetForEnvironment(ctx, d.EnvironmentID)
		if err != nil {
			return err
		}
		if err := checkMode(mode, env.Gate); err != nil {
			return err
		}
		if err := tx.Gates().PutForDeployment(ctx, d.ID, mode); err != nil {
			return err
		}
		out, err = gateOf(ctx, tx, d)
		return err
	})
	return out, err
}

// checkMode lets a deployment be as its environment, which is "open", or stricter.
func checkMode(mode, environment controlplane.GateMode) error {
	if !mode.IsValid() {
		return unknownMode()
	}
	if mode != controlplane.GateOpen && mode.Stricter(environment) != mode {
		return &controlplane.Error{Kind: controlplane.Conflict, Code: "gate_more_open", Field: "gate",
			Message: "the environment's gate is " + string(environment) +
				", and a deployment's is never more open",
			Remedy: "Use open to follow the environment, or have an admin change the environment."}
	}
	return nil
}

// describeEntry names the deployment in the audit as all other entries of its history do, once the
// actor is known to see it.
func describeEntry(e *controlplane.AuditEntry, d controlplane.Deployment, detail string) {
	e.Object, e.Detail = "deployment "+d.Name, detail
	e.Project, e.Environment = d.ProjectID, d.EnvironmentID
}

// readDeployment loads one the actor may see, and checks what they want with it.
func readDeployment(ctx context.Context, tx *postgres.Tx, actor access.Actor, action access.Action,
	id controlplane.DeploymentID) (d controlplane.Deployment, err error) {
	if err := access.Check(actor, access.Self, access.Object{}); err != nil {
		return d, err
	}
	if d, err = tx.Deployments().Get(ctx, id); err != nil {
		return d, err
	}
	o := access.Object{What: "deployment", Name: string(id), Project: d.ProjectID,
		Environment: d.EnvironmentID, Restricted: d.Restricted}
	return d, access.Check(actor, action, o)
}

// newSecret makes a pass's secret and what is stored of it.
func newSecret(prefix string) (controlplane.Plain, [32]byte) {
	text := prefix + rand.Text()
	return controlplane.NewPlain(text), sha256.Sum256([]byte(text))
}

// Prefixes tell secrets apart, and let scanners find them in places where they
// should not be.
const (
	codePrefix  = "nogc_"
	visitPrefix = "nogv_"
	guestPrefix = "nogg_"
	robotPrefix = "nogr_"
)

// hasSecretForm reports whether a text has the form of a secret. Others are refused without a
// database query.
func hasSecretForm(text string) bool {
	prefix, rest, _ := strings.Cut(text, "_")
	return len(prefix) == 4 && strings.HasPrefix(prefix, "nog") && len(rest) == 26
}

// DeleteExpiredPasses removes passes that are over.
func (g *Gate) DeleteExpiredPasses(ctx context.Context, actor access.Actor) error {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return err
	}
	return g.store.InTx(ctx, func(tx *postgres.Tx) error {
		return tx.Passes().DeleteOld(ctx, g.now().Add(-24*time.Hour))
	})
}
