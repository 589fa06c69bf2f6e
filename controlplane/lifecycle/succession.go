package lifecycle

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/pipeline"
)

// A newer deployment is prepared beside an older one, under another name. When it is ready, it
// gets the older one's name and hosts in one transaction, so that the ingress sees one change. Its
// services are told the final name from the start. The older one answers as "was--NAME" until it
// expires; see the view deployment_expiries.

// StayFor is how long visitors may stay on a deployment that was replaced, as route_rows says.
const StayFor = 15 * time.Minute

// mostFormers bounds how many deployments of one name are there beside the newest.
const mostFormers = 100

// reservedNames are those of deployments that a rule makes beside others, and of aliases.
var reservedNames = regexp.MustCompile(`^(next|was(-[0-9]+)?|latest|branch)--`)

// checkReserved refuses names of new deployments that have a meaning of their own.
func checkReserved(actor access.Actor, name string) error {
	if actor.IsSystem() || !reservedNames.MatchString(name) {
		return nil
	}
	return &controlplane.Error{Kind: controlplane.Invalid, Code: "name_reserved", Field: "name",
		Message: "Names that begin with next--, was--, latest-- or branch-- belong to rules",
		Remedy:  "Choose another name."}
}

// NextName is the name of what is prepared beside a deployment.
func NextName(name string) string { return prefixName("next", name) }

// formerName is the n-th name under which a deployment answers that was replaced.
func formerName(name string, n int) string {
	if n == 1 {
		return prefixName("was", name)
	}
	return prefixName(fmt.Sprintf("was-%d", n), name)
}

// prefixName keeps a prefixed name a name: a long one is cut, and ends with a hash of the whole.
func prefixName(prefix, name string) string {
	const digits = 6
	whole := prefix + "--" + name
	if len(whole) <= controlplane.MaxName {
		return whole
	}
	sum := sha256.Sum256([]byte(name))
	cut := strings.TrimRight(whole[:controlplane.MaxName-1-digits], "-")
	return cut + "-" + hex.EncodeToString(sum[:])[:digits]
}

// standBeside stores what a deployment is known as, and lets in to it whom the older one lets in.
func standBeside(
	ctx context.Context, tx *postgres.Tx, actor access.Actor, d controlplane.Deployment, r Request,
	p pipeline.Pipeline,
) error {
	if r.KnownAs == "" {
		return nil
	}
	if err := tx.Lifetimes().SetKnownAs(ctx, d.ID, r.KnownAs); err != nil || r.Beside == "" {
		return err
	}
	if r.KeepData {
		if err := awaitData(ctx, tx, actor, d, r.Beside, p); err != nil {
			return err
		}
	}
	return tx.Gates().CopyForDeployment(ctx, r.Beside, d.ID)
}

// TakeOver gives a deployment that is ready the name and the hosts of the one that it was prepared
// beside. Doing it again changes nothing.
func (l *Lifecycle) TakeOver(
	ctx context.Context, actor access.Actor, older, newer controlplane.DeploymentID,
) error {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return err
	}
	entry := actor.NewAuditEntry("switch deployment", "deployment "+string(newer))
	err := l.store.InAuditedTx(ctx, entry, func(tx *postgres.Tx) error {
		was, now, err := lockBoth(ctx, tx, older, newer)
		if err != nil {
			return err
		}
		entry.Object = "deployment " + was.Name
		entry.Project, entry.Environment = now.ProjectID, now.EnvironmentID
		if err := takeOver(ctx, tx, was, now); err != nil {
			return err
		}
		return l.fail.Hit("switch.commit")
	})
	if err == nil {
		l.fail.Pass("switch.committed")
	}
	return err
}

// lockBoth locks two deployments, always in the same order.
func lockBoth(ctx context.Context, tx *postgres.Tx, a, b controlplane.DeploymentID) (
	first, second controlplane.Deployment, err error) {
	for _, id := range []controlplane.DeploymentID{min(a, b), max(a, b)} {
		if _, err := tx.Deployments().Lock(ctx, id); err != nil {
			return first, second, err
		}
	}
	if first, err = tx.Deployments().Get(ctx, a); err != nil {
		return first, second, err
	}
	second, err = tx.Deployments().Get(ctx, b)
	return first, second, err
}

func takeOver(ctx context.Context, tx *postgres.Tx, older, newer controlplane.Deployment) error {
	if newer.Status != controlplane.Ready || newer.Goal != controlplane.GoalPresent {
		return wrongState(newer, "switched to", "Wait until it is ready.")
	}
	if older.EnvironmentID != newer.EnvironmentID || older.ProjectID != newer.ProjectID {
		return wrongState(newer, "switched to", "It is of another project or environment.")
	}
	if err := cmp.Or(notDisputed(ctx, tx, older), notDisputed(ctx, tx, newer)); err != nil {
		return err
	}
	formers, err := tx.Lifetimes().ListFormers(ctx, newer.ID)
	if err != nil || slices.ContainsFunc(formers,
		func(f postgres.FormerDeployment) bool { return f.ID == older.ID }) {
		return err
	}
	if err := handOverData(ctx, tx, older, newer); err != nil {
		return err
	}
	run, err := tx.Runs().ByID(ctx, newer.RunID)
	if err != nil {
		return err
	}
	newer.Name = older.Name
	taken := deploymentHosts(newer, run.Pipeline)
	if older.Status.IsGone() {
		if err := cmp.Or(nameIsFree(ctx, tx, newer),
			hostsAreFree(ctx, tx, newer, run.Pipeline)); err != nil {
			return err
		}
	} else if older, err = stepAside(ctx, tx, older, taken); err != nil {
		return err
	}
	err = errors.Join(tx.Deployments().Rename(ctx, newer.ID, newer.Name),
		tx.Hosts().Replace(ctx, newer.ID, taken))
	if err != nil {
		return err
	}
	return linkSuccession(ctx, tx, older, newer)
}

// stepAside gives a deployment the name and the hosts of one that was replaced. A service that the
// newer one no longer has stays reachable where it was, too.
func stepAside(ctx context.Context, tx *postgres.Tx, d controlplane.Deployment,
	taken []controlplane.Host) (controlplane.Deployment, error) {
	before, err := tx.Hosts().ListOf(ctx, d.ID)
	if err != nil {
		return d, err
	}
	d, hosts, err := freeFormerName(ctx, tx, d)
	if err != nil {
		return d, err
	}
	hosts = append(hosts, hostsWithout(before[d.ID], taken)...)
	return d, errors.Join(tx.Deployments().Rename(ctx, d.ID, d.Name),
		tx.Hosts().Replace(ctx, d.ID, hosts))
}

// linkSuccession stores who replaced whom, and notifies of both.
func linkSuccession(
	ctx context.Context, tx *postgres.Tx, older, newer controlplane.Deployment,
) error {
	err := errors.Join(
		tx.Lifetimes().SetKnownAs(ctx, older.ID, newer.Name),
		tx.Lifetimes().SetKnownAs(ctx, newer.ID, newer.Name),
		tx.Lifetimes().SetSuccessor(ctx, older.ID, newer.ID),
		tx.Passes().MoveTo(ctx, older.ID, newer.ID),
		tx.Deployments().SetDetail(ctx, older.ID, "a newer build has its place and its addresses"))
	if err != nil {
		return err
	}
	return errors.Join(notifyChanged(ctx, tx, older), notifyChanged(ctx, tx, newer))
}

// freeFormerName renames a deployment to the first free name of one that was replaced, and returns
// its hosts there.
func freeFormerName(ctx context.Context, tx *postgres.Tx, d controlplane.Deployment) (
	controlplane.Deployment, []controlplane.Host, error) {
	run, err := tx.Runs().ByID(ctx, d.RunID)
	if err != nil {
		return d, nil, err
	}
	name := d.Name
	for n := 1; n <= mostFormers; n++ {
		d.Name = formerName(name, n)
		err := nameIsFree(ctx, tx, d)
		if err == nil {
			err = hostsAreFree(ctx, tx, d, run.Pipeline)
		}
		if err == nil {
			return d, deploymentHosts(d, run.Pipeline), nil
		}
		if code := controlplane.CodeOf(err); code != "name_taken" && code != "host_taken" {
			return d, nil, err
		}
	}
	return d, nil, &controlplane.Error{Kind: controlplane.Conflict, Code: "formers_many",
		Message: fmt.Sprintf("%d deployments that %s replaced are there still", mostFormers, name),
		Remedy:  "Remove some of them, or wait until they expire."}
}

// hostsWithout returns those of the hosts whose names are not among others.
func hostsWithout(all, others []controlplane.Host) []controlplane.Host {
	return slices.DeleteFunc(slices.Clone(all), func(h controlplane.Host) bool {
		return slices.ContainsFunc(others, func(o controlplane.Host) bool { return o.Host == h.Host })
	})
}

// RemoveFormers removes what a deployment replaced, except for what a person holds, what somebody
// uses, which expires soon by itself, and what was replaced since the time, whose visitors may be
// there still. It returns how many it removes.
func (l *Lifecycle) RemoveFormers(ctx context.Context, actor access.Actor,
	id controlplane.DeploymentID, younger time.Duration) (removed int, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return 0, err
	}
	var formers []postgres.FormerDeployment
	var visitors map[controlplane.DeploymentID][]controlplane.Visitor
	var now time.Time
	err = l.store.Read(ctx, func(tx *postgres.Tx) error {
		if now, err = tx.DatabaseTime(ctx); err != nil {
			return err
		}
		if formers, err = tx.Lifetimes().ListFormers(ctx, id); err != nil {
			return err
		}
		ids := make([]controlplane.DeploymentID, len(formers))
		for i, f := range formers {
			ids[i] = f.ID
		}
		visitors, err = tx.Presence().ListOf(ctx, ids...)
		return err
	})
	for _, f := range formers {
		if f.Held || now.Sub(f.ReplacedAt) < younger ||
			len(controlplane.KnownVisitors(visitors[f.ID])) > 0 {
			continue
		}
		if _, one := l.Remove(ctx, actor, f.ID); one != nil {
			err = errors.Join(err, one)
			continue
		}
		removed++
	}
	return removed, err
}
