// Package logbook stores the output of plugins. Nodes send each line once; everyone who may see the
// deployment can read it.
//
// Services' logs are not stored here: they stay on the node and are read from there.
package logbook

import (
	"context"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/pipeline"
)

// Logbook stores and reads lines.
type Logbook struct{ store *postgres.Store }

// New makes a logbook on the store.
func New(store *postgres.Store) *Logbook { return &Logbook{store: store} }

// Append stores lines a node sent. Lines of deployments that are not on the
// node are left out; a line that is there already is not doubled.
func (b *Logbook) Append(ctx context.Context, actor access.Actor, node controlplane.NodeID,
	lines []controlplane.LogLine, of []controlplane.DeploymentID) error {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return err
	}
	groups := map[controlplane.DeploymentID][]controlplane.LogLine{}
	for i, l := range lines {
		groups[of[i]] = append(groups[of[i]], l)
	}
	for id, group := range groups {
		if err := b.appendTo(ctx, node, id, group); err != nil {
			return err
		}
	}
	return nil
}

func (b *Logbook) appendTo(ctx context.Context, node controlplane.NodeID,
	id controlplane.DeploymentID, lines []controlplane.LogLine) error {
	return b.store.InTx(ctx, func(tx *postgres.Tx) error {
		d, err := tx.Deployments().Lock(ctx, id)
		if controlplane.KindOf(err) == controlplane.NotFound {
			return nil
		}
		if err != nil || d.NodeID != node {
			return err
		}
		runs, err := tx.Runs().List(ctx, id)
		if err != nil {
			return err
		}
		own := lines[:0]
		for _, l := range lines {
			for _, r := range runs {
				if r.ID == l.Run {
					own = append(own, l)
				}
			}
		}
		if len(own) == 0 {
			return nil
		}
		return tx.LogLines().Append(ctx, id, own)
	})
}

// StepLines says which lines of one step are wanted.
type StepLines struct {
	Deployment controlplane.DeploymentID
	Run        int
	Step       pipeline.StepKey
	// After is the number of the line before the first one, Most how many are wanted.
	After int64
	Most  int
}

// Step returns lines of one step. more is set if there are further ones.
func (b *Logbook) Step(
	ctx context.Context, actor access.Actor, w StepLines,
) (lines []controlplane.LogLine, more bool, err error) {
	err = b.store.Read(ctx, func(tx *postgres.Tx) error {
		d, err := tx.Deployments().Get(ctx, w.Deployment)
		if err != nil {
			return err
		}
		if err := access.Check(actor, access.ReadDeployment, access.Object{What: "deployment",
			Name: string(w.Deployment), Project: d.ProjectID, Environment: d.EnvironmentID,
			Restricted: d.Restricted}); err != nil {
			return err
		}
		r, err := tx.Runs().Get(ctx, w.Deployment, w.Run)
		if err != nil {
			return err
		}
		lines, err = tx.LogLines().ListOfStep(ctx, r.ID, w.Step, w.After, w.Most+1)
		return err
	})
	if len(lines) > w.Most {
		lines, more = lines[:w.Most], true
	}
	for i := range lines {
		lines[i].RunNumber = w.Run
	}
	return lines, more, err
}
