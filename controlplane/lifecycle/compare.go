package lifecycle

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/pipeline"
)

// goodRunsToTry is how many good runs of a project are looked at for one that the actor may read.
const goodRunsToTry = 50

// ComparedRun is a run with the deployment that it belongs to.
type ComparedRun struct {
	RunView
	Of controlplane.Deployment
}

// Comparison is a run beside the last good run of its project.
type Comparison struct {
	Run ComparedRun
	// Good is nil if there is none that the actor may read.
	Good *ComparedRun
	// Fields are what differs in the pipeline and in what was chosen, good to bad, sorted. References
	// to secrets stay references.
	Fields []pipeline.FieldChange
}

// CompareRun compares a run with the last good run of its project that came before it; with the
// newest good one if none did.
func (l *Lifecycle) CompareRun(ctx context.Context, actor access.Actor,
	id controlplane.DeploymentID, number int) (c Comparison, err error) {
	err = l.store.Read(ctx, func(tx *postgres.Tx) error {
		d, r, err := readRun(ctx, tx, actor, id, number)
		if err != nil {
			return err
		}
		if c.Run, err = comparedRun(ctx, tx, d, r); err != nil {
			return err
		}
		c.Good, err = findGoodRun(ctx, tx, actor, r)
		return err
	})
	if err != nil || c.Good == nil {
		return c, err
	}
	good, err := runTree(*c.Good)
	if err != nil {
		return c, err
	}
	bad, err := runTree(c.Run)
	if err != nil {
		return c, err
	}
	if c.Fields, err = pipeline.CompareJSON(good, bad); err != nil {
		return c, err
	}
	slices.SortFunc(c.Fields, func(a, b pipeline.FieldChange) int {
		return cmp.Compare(a.Path, b.Path)
	})
	return c, nil
}

func comparedRun(ctx context.Context, tx *postgres.Tx, d controlplane.Deployment,
	r controlplane.Run) (ComparedRun, error) {
	v, err := runView(ctx, tx, d, r)
	return ComparedRun{RunView: v, Of: d}, err
}

// findGoodRun passes over the runs of deployments that the actor may not read.
func findGoodRun(ctx context.Context, tx *postgres.Tx, actor access.Actor,
	r controlplane.Run) (*ComparedRun, error) {
	candidates, err := tx.Runs().ListGood(ctx, r, goodRunsToTry)
	if err != nil {
		return nil, err
	}
	for _, candidate := range candidates {
		d, err := tx.Deployments().Get(ctx, candidate.Deployment)
		if err != nil {
			return nil, err
		}
		if access.Check(actor, access.ReadDeployment, accessObject(d)) != nil {
			continue
		}
		found, err := tx.Runs().ByID(ctx, candidate.ID)
		if err != nil {
			return nil, err
		}
		good, err := comparedRun(ctx, tx, d, found)
		return &good, err
	}
	return nil, nil
}

// runTree is what a run was made from, as people compare it. Versions are compared apart, and where
// a step stands on the canvas makes no difference.
func runTree(r ComparedRun) (any, error) {
	steps := map[string]any{}
	for _, s := range r.Pipeline.Steps {
		s.Position = nil
		s = s.WithContainer(func(c *pipeline.ServiceStep) { c.Image = nil })
		steps[string(s.Key)] = s
	}
	text, err := json.Marshal(map[string]any{"environment": r.Of.Environment, "node": r.Of.Node,
		"input": r.Input, "steps": steps})
	if err != nil {
		return nil, err
	}
	var tree any
	return tree, json.Unmarshal(text, &tree)
}
