package lifecycle

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// Preflight is what creating a deployment would meet now.
type Preflight struct {
	Checks []Check
	// Nodes has the result for each node of the environment.
	Nodes []NodeRefusal
	// Versions are what the tags mean, as far as that was found out.
	Versions []controlplane.ServiceVersion
}

// OK reports whether the deployment can be created.
func (p Preflight) OK() bool {
	return !slices.ContainsFunc(p.Checks, func(c Check) bool { return c.State == CheckFailed })
}

// Preflight does all that Create checks, and writes nothing.
func (l *Lifecycle) Preflight(
	ctx context.Context, actor access.Actor, r Request,
) (out Preflight, err error) {
	if err := checkChosenVersion(actor, r); err != nil {
		return out, err
	}
	c, p := &checks{}, plan{actor: actor}
	if reserved := checkReserved(actor, r.Name); reserved != nil {
		if err := c.record("name", "", "", reserved); err != nil {
			return out, err
		}
	}
	goOn, err := l.checkDefinition(ctx, actor, r, c, &p)
	if err == nil && goOn {
		err = l.checkImages(ctx, actor, r, c, &p)
	}
	if err == nil && p.env.ID != "" && !c.hasFailed("project", "environment", "access", "pipeline") {
		err = l.store.Read(ctx, func(tx *postgres.Tx) error {
			out.Nodes, err = checkFit(ctx, tx, r, p, c)
			return err
		})
	}
	out.Checks, out.Versions = c.all, p.versions
	return out, err
}

// checkFit checks what creating checks under the nodes' lock.
func checkFit(
	ctx context.Context,
	tx *postgres.Tx,
	r Request,
	p plan,
	c *checks,
) ([]NodeRefusal, error) {
	d := controlplane.Deployment{Name: r.Name, Environment: p.env.Name, Domain: p.env.Domain}
	err := c.record("name", "", "The name is free.", nameIsFree(ctx, tx, d))
	if err != nil || p.pipeline.Steps == nil {
		return nil, err
	}
	if !c.hasFailed("name") {
		err = c.record("host", "", "Its addresses are free.", hostsAreFree(ctx, tx, d, p.pipeline))
		if err != nil {
			return nil, err
		}
	}
	nodes, err := tx.Placement().ListNodes(ctx, p.env.ID)
	if err != nil {
		return nil, err
	}
	all, err := withQueue(ctx, tx, p.env.ID, nodes)
	if err != nil {
		return nil, err
	}
	a := p.ask
	a.MayWait = r.Wait
	nodesSay := placementTable(all, a)
	if c.hasFailed("platform") {
		// The platform check has reported this already; look for other reasons.
		a.Arches = nil
	}
	var room relief
	if node, _ := ChooseNode(all, a); node.ID == "" && mayComeFree(all, a) {
		if room, err = describeRelief(ctx, tx, p.actor, p.env, all, a); err != nil {
			return nil, err
		}
	}
	return nodesSay, checkRoom(all, a, r.Wait, room, c)
}

// placementTable is each node's result; the reason is empty for a node that could take
// it.
func placementTable(all []Candidate, a ResourceRequest) []NodeRefusal {
	rows := make([]NodeRefusal, len(all))
	for i, n := range all {
		rows[i] = NodeRefusal{Node: n.Name, Reason: refusalReason(n, a), CPUFree: max(0, cpuFree(n)),
			MemoryFree: max(0, memoryFree(n))}
		rows[i].Asks = rows[i].Reason == "" && mustAsk(n, a)
	}
	return rows
}

// checkRoom reports shortage of disk, of address ranges, and of everything else as
// separate checks. A node is short of disk if more disk alone would be enough.
func checkRoom(
	all []Candidate, a ResourceRequest, wait bool, room relief, c *checks,
) error {
	node, refused := ChooseNode(all, a)
	short := shortOf(all, a)
	for _, id := range []string{"capacity", "address", "disk"} {
		said := map[string]string{"capacity": roomText(node, a),
			"address": "An address range is free.", "disk": "There is disk for it."}[id]
		var none error
		switch {
		case node.ID == "" && (id == short || short == "" && id == "capacity"):
			if wait && id == "capacity" && mayComeFree(all, a) {
				c.recordUnknown(id, "", strings.TrimSpace("No node has room now; it would wait. "+
					waitsForRoom(refused)+" "+room.String()))
				continue
			}
			none = addRelief(noRoom(a, refused), room)
		case node.ID == "" && id == "capacity":
			said = "There are processors and memory for it."
		case node.ID == "" && short == "":
			continue
		}
		if err := c.record(id, "", said, summarizeReasons(id, none)); err != nil {
			return err
		}
	}
	return nil
}

// roomText is about the node that would be chosen, or asked first.
func roomText(n Candidate, a ResourceRequest) string {
	if n.ID != "" && mustAsk(n, a) {
		return "Node " + n.Name + " has room, and would be asked whether it takes it."
	}
	return "Node " + n.Name + " has room."
}

func mayComeFree(all []Candidate, a ResourceRequest) bool {
	return len(nodesThatMayComeFree(all, a)) > 0
}

// nodesThatMayComeFree are those that lack nothing but room, or whose other reason passes.
func nodesThatMayComeFree(all []Candidate, a ResourceRequest) (ids []controlplane.NodeID) {
	for _, n := range all {
		if why := permanentReason(n, a); why == "" || isTransientReason(why) {
			ids = append(ids, controlplane.NodeID(n.ID))
		}
	}
	return ids
}

// shortOf returns "disk" or "address" if that alone keeps every node from taking it.
func shortOf(all []Candidate, a ResourceRequest) string {
	disk, address := slices.Clone(all), slices.Clone(all)
	for i := range all {
		disk[i].DiskFree, address[i].Subnets = math.MaxInt64, 0
	}
	if n, _ := ChooseNode(disk, a); n.ID != "" {
		return "disk"
	}
	if n, _ := ChooseNode(address, a); n.ID != "" {
		return "address"
	}
	return ""
}

// summarizeReasons adds to the message each node's reason, which is a sentence.
func summarizeReasons(id string, err error) error {
	e, ok := err.(*controlplane.Error) //nolint:errorlint // It is our own, just made.
	if !ok {
		return err
	}
	what := map[string]string{"disk": "no node has enough disk free",
		"address": "no node has an address range free"}[id]
	if what != "" {
		e.Message = what
	}
	reasons := make([]string, len(e.Placement))
	for i, r := range e.Placement {
		reasons[i] = r.Node + ": " + r.Reason
	}
	if len(reasons) > 0 {
		e.Message = fmt.Sprintf("%s. %s", e.Message, strings.Join(reasons, " "))
	}
	return e
}
