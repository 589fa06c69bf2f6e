package gate

import (
	"context"
	"crypto/sha256"
	"slices"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// CreateSignInCode creates the code that signs a person in at a host. A host that does not exist
// and one that the person may not see return the same error.
func (g *Gate) CreateSignInCode(
	ctx context.Context, actor access.Actor, host string,
) (code controlplane.Plain, err error) {
	if err := access.Check(actor, access.Self, access.Object{}); err != nil {
		return code, err
	}
	if actor.Session() == "" {
		return code, &controlplane.Error{Kind: controlplane.Forbidden, Code: "session_needed",
			Message: "only somebody signed in with a browser is handed over",
			Remedy:  "Use a robot token in a program."}
	}
	err = g.store.InTx(ctx, func(tx *postgres.Tx) error {
		place, err := findVisiblePlace(ctx, tx, actor, host)
		if err != nil {
			return err
		}
		now := g.now()
		p := controlplane.Pass{ID: controlplane.NewID[controlplane.PassID](),
			Kind: controlplane.PassCode, Environment: place.Environment,
			Deployment: place.Deployment, Host: place.Host, Session: actor.Session(),
			User: actor.UserID(), CreatedBy: actor.Name(), CreatedAt: now,
			ExpiresAt: now.Add(codeLife)}
		code, p.Hash = newSecret(codePrefix)
		return tx.Passes().Insert(ctx, p)
	})
	return code, err
}

func findVisiblePlace(
	ctx context.Context, tx *postgres.Tx, actor access.Actor, host string,
) (p controlplane.HostService, err error) {
	p, ok, err := tx.Hosts().GetService(ctx, strings.ToLower(host))
	if err != nil {
		return p, err
	}
	if !ok || access.Check(actor, access.ReadDeployment, objectOf(p)) != nil {
		return p, controlplane.NewNotFoundError("address", host)
	}
	return p, nil
}

func objectOf(p controlplane.HostService) access.Object {
	return access.Object{What: "deployment", Name: p.Name, Project: p.Project,
		Environment: p.Environment, Restricted: p.Restricted}
}

// SimilarHosts returns hosts that are spelled nearly alike, of those the actor may see.
func (g *Gate) SimilarHosts(
	ctx context.Context, actor access.Actor, host string,
) (near []string, err error) {
	if err := access.Check(actor, access.Self, access.Object{}); err != nil {
		return nil, err
	}
	var all []controlplane.HostService
	err = g.store.Read(ctx, func(tx *postgres.Tx) (err error) {
		all, err = tx.Hosts().ListServices(ctx)
		return err
	})
	all = slices.DeleteFunc(all, func(p controlplane.HostService) bool {
		return access.Check(actor, access.ReadDeployment, objectOf(p)) != nil
	})
	return nearestHosts(strings.ToLower(host), all), err
}

// Redeem exchanges a code for a visit; a guest's token is a pass already. ok is false
// for anything else.
func (g *Gate) Redeem(ctx context.Context, actor access.Actor, host string,
	brought controlplane.Plain) (pass controlplane.Plain, until time.Time, ok bool, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return pass, until, false, err
	}
	text := brought.Reveal()
	switch {
	case !hasSecretForm(text):
		return pass, until, false, nil
	case strings.HasPrefix(text, guestPrefix):
		all, err := g.Check(ctx, actor, []controlplane.Plain{brought})
		if err != nil || len(all) == 0 {
			return pass, until, false, err
		}
		return brought, all[0].ExpiresAt, true, nil
	}
	err = g.store.InTx(ctx, func(tx *postgres.Tx) error {
		var p controlplane.Pass
		p, ok, err = tx.Passes().TakeCode(ctx, sha256.Sum256([]byte(text)), host, g.now())
		if err != nil || !ok {
			return err
		}
		pass, until, err = g.insertVisitPass(ctx, tx, p)
		return err
	})
	return pass, until, ok, err
}

func (g *Gate) insertVisitPass(
	ctx context.Context, tx *postgres.Tx, p controlplane.Pass,
) (pass controlplane.Plain, until time.Time, err error) {
	p.ID, p.Kind = controlplane.NewID[controlplane.PassID](), controlplane.PassVisit
	p.CreatedAt, p.ExpiresAt = g.now(), g.now().Add(visitLife)
	pass, p.Hash = newSecret(visitPrefix)
	return pass, p.ExpiresAt, tx.Passes().Insert(ctx, p)
}

// ValidPass is a pass that holds. Full is set when its person may change the
// deployment.
type ValidPass struct {
	controlplane.Pass
	Full bool
}

// Check returns those of the passes that are valid now: not expired, not withdrawn,
// and for a visit, its person still signed in, active and allowed to see the
// deployment.
func (g *Gate) Check(
	ctx context.Context, actor access.Actor, carried []controlplane.Plain,
) (valid []ValidPass, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return nil, err
	}
	var hashes [][]byte
	for _, c := range carried {
		if hasSecretForm(c.Reveal()) {
			sum := sha256.Sum256([]byte(c.Reveal()))
			hashes = append(hashes, sum[:])
		}
	}
	if len(hashes) == 0 {
		return nil, nil
	}
	return g.CheckHashes(ctx, actor, hashes)
}

// CheckHashes is Check for passes whose hashes are known already.
func (g *Gate) CheckHashes(
	ctx context.Context, actor access.Actor, hashes [][]byte,
) (valid []ValidPass, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return nil, err
	}
	err = g.store.Read(ctx, func(tx *postgres.Tx) error {
		valid = nil
		all, err := tx.Passes().ListByHash(ctx, hashes, g.now())
		if err != nil {
			return err
		}
		people := personCache{tx: tx, known: map[controlplane.UserID]access.Actor{}}
		for _, p := range all {
			level, err := people.accessLevel(ctx, p)
			if err != nil {
				return err
			}
			if level != controlplane.LevelNone {
				valid = append(valid, ValidPass{p.Pass, level == controlplane.LevelFull})
			}
		}
		return nil
	})
	return valid, err
}

// personCache loads each person once, however many passes they have.
type personCache struct {
	tx    *postgres.Tx
	known map[controlplane.UserID]access.Actor
}

func (p personCache) accessLevel(
	ctx context.Context, pass postgres.PassWithPlace,
) (controlplane.Level, error) {
	if pass.Kind != controlplane.PassVisit {
		return controlplane.LevelRead, nil
	}
	actor, ok := p.known[pass.User]
	if !ok {
		u, err := p.tx.Users().ForAccess(ctx, pass.User)
		if err != nil {
			return "", err
		}
		grants, err := p.tx.Teams().ListGrants(ctx, pass.User)
		if err != nil {
			return "", err
		}
		if u.Active {
			actor = access.User(u, grants)
		}
		p.known[pass.User] = actor
	}
	return access.Level(actor, access.Object{Project: pass.Project,
		Environment: pass.Environment, Restricted: pass.Restricted}), nil
}

// TouchPass notes that a pass was used.
func (g *Gate) TouchPass(ctx context.Context, actor access.Actor, id controlplane.PassID) error {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return err
	}
	return g.store.InTx(ctx, func(tx *postgres.Tx) error {
		return tx.Passes().Touch(ctx, id, g.now())
	})
}
