package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/internal/quantity"
)

// describeRelief says what frees room in the environment soonest: what ends by itself, and what the
// actor may remove so that the request fits.
func describeRelief(ctx context.Context, tx *postgres.Tx, actor access.Actor,
	env controlplane.Environment, all []Candidate, ask ResourceRequest) (relief, error) {
	soonest, err := describeSoonestEnd(ctx, tx, actor, nodesThatMayComeFree(all, ask))
	if err != nil {
		return relief{}, err
	}
	removable, err := listRemovable(ctx, tx, actor, env)
	if err != nil {
		return relief{}, err
	}
	return relief{soonest, describeRemovals(all, ask, removable, actor)}, nil
}

// relief is what frees room, in sentences: what ends by itself, and what can be removed. Each may
// be empty.
type relief struct{ end, removals string }

func (r relief) String() string { return strings.TrimSpace(r.end + " " + r.removals) }

// describeSoonestEnd says which deployment on these nodes ends by itself first, and so frees room
// without anybody's doing; "" if none does. One that the actor may not see has no name.
func describeSoonestEnd(ctx context.Context, tx *postgres.Tx, actor access.Actor,
	nodes []controlplane.NodeID) (string, error) {
	id, in, err := tx.Lifetimes().GetSoonestEnd(ctx, nodes)
	if err != nil || id == "" {
		return "", err
	}
	d, err := tx.Deployments().Get(ctx, id)
	if err != nil {
		return "", err
	}
	name := "Another deployment"
	if access.Check(actor, access.ReadDeployment, accessObject(d)) == nil {
		name = d.Name
	}
	return fmt.Sprintf("%s ends by itself in %s, unless somebody uses it.", name,
		quantity.FormatAhead(in)), nil
}

// listRemovable returns what the actor may remove in the environment, and nothing else.
func listRemovable(ctx context.Context, tx *postgres.Tx, actor access.Actor,
	env controlplane.Environment) ([]postgres.Removable, error) {
	scope := access.WritableScope(actor, env.ID, env.Restricted)
	if !scope.All && len(scope.Projects) == 0 {
		return nil, nil
	}
	found, err := tx.Lifetimes().ListRemovable(ctx, postgres.RemovableFilter{Environment: env.ID,
		Everything: scope.All, Projects: scope.Projects, Actor: actor.Name()})
	// The scope is for the database; the check decides.
	return slices.DeleteFunc(found, func(r postgres.Removable) bool {
		return access.Check(actor, access.WriteDeployment, accessObject(r.Deployment)) != nil
	}), err
}

// mostNamed is how many deployments one sentence names.
const mostNamed = 3

// describeRemovals names what makes room when it is removed: each that is enough alone, or else the
// fewest of one node that are enough together; "" if nothing that is removable is.
func describeRemovals(all []Candidate, ask ResourceRequest, removable []postgres.Removable,
	actor access.Actor) string {
	var enough []postgres.Removable
	for _, r := range removable {
		if fitsWithout(all, ask, []postgres.Removable{r}) && len(enough) < mostNamed {
			enough = append(enough, r)
		}
	}
	names := func(rs []postgres.Removable, last string) string {
		words := make([]string, len(rs))
		for i, r := range rs {
			words[i] = describeRemovable(r, actor)
		}
		if len(words) == 1 {
			return words[0]
		}
		return strings.Join(words[:len(words)-1], ", ") + " " + last + " " + words[len(words)-1]
	}
	switch together := fewestTogether(all, ask, removable); {
	case len(enough) > 0:
		return "To make room now, remove " + names(enough, "or") + "."
	case len(together) > 0:
		return "To make room now, remove " + names(together, "and") + "."
	}
	return ""
}

// fewestTogether returns the smallest group of one node whose removal makes room and of which none
// can stay; the first to be removed come first. There is none if it takes more than a sentence can
// name.
func fewestTogether(
	all []Candidate, ask ResourceRequest, removable []postgres.Removable,
) (best []postgres.Removable) {
	for _, n := range all {
		var group []postgres.Removable
		for _, r := range removable {
			if string(r.Deployment.NodeID) != n.ID {
				continue
			}
			if group = append(group, r); fitsWithout(all, ask, group) {
				break
			}
		}
		group = leaveNeedless(all, ask, group)
		if len(group) > 0 && len(group) <= mostNamed && (best == nil || len(group) < len(best)) {
			best = group
		}
	}
	return best
}

// leaveNeedless drops those of a group without whose removal there is room too; all of them if the
// whole group does not make room.
func leaveNeedless(
	all []Candidate, ask ResourceRequest, group []postgres.Removable,
) []postgres.Removable {
	if len(group) == 0 || !fitsWithout(all, ask, group) {
		return nil
	}
	for i := len(group) - 1; i >= 0 && len(group) > 1; i-- {
		if less := slices.Delete(slices.Clone(group), i, i+1); fitsWithout(all, ask, less) {
			group = less
		}
	}
	return group
}

// fitsWithout reports whether the node of these deployments takes the request once they are gone.
func fitsWithout(all []Candidate, ask ResourceRequest, gone []postgres.Removable) bool {
	i := slices.IndexFunc(all, func(n Candidate) bool {
		return n.ID == string(gone[0].Deployment.NodeID)
	})
	if i < 0 {
		return false
	}
	n := all[i]
	for _, r := range gone {
		d := r.Deployment
		n.AllocatedCPU -= d.Resources.CPU
		n.AllocatedMemory -= int64(d.Resources.MemoryMiB) << 20
		n.AllocatedVRAM -= *d.VRAMMiB << 20
		n.Deployments--
		n.Taken = slices.DeleteFunc(slices.Clone(n.Taken),
			func(gpu string) bool { return slices.Contains(d.GPUs, gpu) })
	}
	return refusalReason(n, ask) == ""
}

// describeRemovable is one of them with its owner, what it frees, and how long nobody used it.
func describeRemovable(r postgres.Removable, actor access.Actor) string {
	d := r.Deployment
	owner := "made by " + d.CreatedBy
	if d.CreatedBy == actor.Name() {
		owner = "yours"
	}
	frees := wordAmounts(d.Resources, len(d.GPUs))
	if frees == "" {
		frees = "no reserved room"
	}
	return fmt.Sprintf("%s (%s, frees %s, last used %s ago)", d.Name, owner, frees,
		quantity.FormatAhead(r.Idle))
}

// addRelief adds what frees room to the remedy of an error that says that there is none. It names
// what to remove, so that the advice to remove something is not given twice.
func addRelief(err error, room relief) error {
	e, ok := errors.AsType[*controlplane.Error](err)
	if !ok || e.Code != "no_room" {
		return err
	}
	if room.removals != "" {
		e.Remedy = strings.Replace(e.Remedy, remedyNoRoom, "An admin can add a node.", 1)
	}
	e.Remedy = strings.TrimSpace(room.String() + " " + e.Remedy)
	return err
}
