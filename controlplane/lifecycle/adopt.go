package lifecycle

import (
	"context"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/pipeline"
)

// DescribedDeployment is a deployment as its node describes it: everything that is needed to
// write down again what the database has lost.
type DescribedDeployment struct {
	ID         controlplane.DeploymentID
	Generation int64
	Run        controlplane.RunID
	Version    int
	Pipeline   pipeline.Pipeline
	Input      map[string]any
	// Phase is the agent's phase of the deployment; empty if the node has nothing of it. Gone is
	// set if the node's goal was to remove it.
	Phase controlplane.DeploymentStatus
	Gone  bool
	// On is where it was found.
	On     controlplane.NodeID
	Steps  map[pipeline.StepKey]pipeline.StepStatus
	Sealed map[pipeline.StepKey][]byte
	// Key and Values are what the run was started with; nil if the agent was restarted
	// since. Without the key, outputs of plugins cannot be passed to their undo; without
	// the values, the run gets the current values of the project's secrets, and generated
	// ones are generated again.
	Key    []byte
	Values map[string]string
}

// Adopt writes a row for a deployment that a node runs and the database has lost. It
// keeps its id, run and services. Its project must exist and have a pipeline. Only a
// ready deployment is adopted; one that is under way has to end first. If a row
// contradicts the node, the row is changed to what the node has.
func (l *Lifecycle) Adopt(ctx context.Context, actor access.Actor, node string,
	id controlplane.DeploymentID, describe DescribeFunc) (made controlplane.Deployment, err error) {
	_, _, f, err := l.findOnNode(ctx, actor, node, id, describe)
	if err != nil {
		return made, err
	}
	entry := actor.NewAuditEntry("adopt deployment", "deployment "+string(f.ID)+" on node "+node)
	err = l.store.InAuditedTx(ctx, entry, func(tx *postgres.Tx) error {
		n, u, err := unknownOn(ctx, tx, actor, node, f.ID)
		if err != nil {
			return err
		}
		entry.Object = "deployment " + u.Name + " on node " + node
		if u.Disputed && u.PurgedAt == nil {
			made, err = l.adoptDisputed(ctx, tx, actor, n, u, f)
			entry.Project, entry.Environment = made.ProjectID, made.EnvironmentID
			return err
		}
		if f.Phase != controlplane.Ready || u.PurgedAt != nil {
			return &controlplane.Error{Kind: controlplane.Conflict, Code: "not_adoptable",
				Message: "deployment " + u.Name + " is " + string(u.Phase) + ": only a ready one is adopted",
				Remedy:  "Wait until its run has ended, or purge it."}
		}
		target, env, err := findAdoptionTarget(ctx, tx, u, n)
		if err != nil {
			return err
		}
		entry.Project, entry.Environment = target.ProjectID, env.ID
		made, err = l.insertAdopted(ctx, tx, adoption{actor: actor, node: n, unknown: u, found: f,
			target: target, env: env})
		return err
	})
	if err != nil {
		return controlplane.Deployment{}, err
	}
	return l.Get(ctx, actor, f.ID)
}

// findAdoptionTarget finds the project and the environment again.
func findAdoptionTarget(ctx context.Context, tx *postgres.Tx, u controlplane.UnknownDeployment,
	n controlplane.Node) (postgres.RunTarget, controlplane.Environment, error) {
	target, err := tx.Projects().LoadRunTarget(ctx, u.Project)
	if err == nil && target.Version == 0 {
		err = &controlplane.Error{Kind: controlplane.Conflict, Code: "no_pipeline",
			Message: "project " + u.Project + " has no pipeline",
			Remedy:  "Save one first; what runs keeps its own."}
	}
	if err != nil {
		return target, controlplane.Environment{}, err
	}
	env, err := tx.Environments().GetTarget(ctx, n.Environment)
	return target, env, err
}

// adoption is what the row of an adopted deployment is made of.
type adoption struct {
	actor   access.Actor
	node    controlplane.Node
	unknown controlplane.UnknownDeployment
	found   DescribedDeployment
	target  postgres.RunTarget
	env     controlplane.Environment
}

// insertAdopted adds the deployment and its run as the node has them.
func (l *Lifecycle) insertAdopted(
	ctx context.Context, tx *postgres.Tx, a adoption,
) (controlplane.Deployment, error) {
	f := a.found
	ask := resourceRequest(f.Pipeline, controlplane.Placement{})
	d := controlplane.Deployment{ID: f.ID, Name: a.unknown.Name, ProjectID: a.target.ProjectID,
		Project: a.target.Project, EnvironmentID: a.env.ID, Environment: a.env.Name,
		Domain: a.env.Domain, NodeID: a.node.ID, Node: a.node.Name, RunID: f.Run,
		Versions: listVersions(f.Pipeline), Resources: ask.Resources,
		VRAMMiB: new(int64(ask.VRAMMiB)), CreatedBy: a.actor.Name()}
	if err := nameIsFree(ctx, tx, d); err != nil {
		return d, err
	}
	if err := tx.Deployments().Insert(ctx, d, deploymentHosts(d, f.Pipeline)); err != nil {
		return d, err
	}
	if err := tx.Deployments().MarkAdopted(ctx, d.ID, f.Generation, a.actor.Name()); err != nil {
		return d, err
	}
	if err := l.adoptRun(ctx, tx, a.actor, d, f, a.target); err != nil {
		return d, err
	}
	for _, to := range []controlplane.DeploymentStatus{controlplane.Applying, controlplane.Ready} {
		if err := moveStatus(ctx, tx, d, to, "adopted", nil); err != nil {
			return d, err
		}
	}
	return d, tx.UnknownDeployments().Delete(ctx, a.node.ID, f.ID)
}

// adoptRun stores the run as the node knows it. Its pipeline is stored with it; if the version it
// came from was lost, the latest version is referenced instead.
func (l *Lifecycle) adoptRun(ctx context.Context, tx *postgres.Tx, actor access.Actor,
	d controlplane.Deployment, f DescribedDeployment, target postgres.RunTarget) error {
	version := target.Version
	if _, err := tx.Pipelines().GetVersion(ctx, d.ProjectID, f.Version); err == nil {
		version = f.Version
	}
	run := controlplane.Run{ID: f.Run, Deployment: d.ID, Project: d.ProjectID,
		Version: version, Pipeline: f.Pipeline, Input: f.Input, StartedBy: actor.Name()}
	var err error
	if run.Key, err = l.keys.SealRunKey(run.ID, f.Key); err != nil {
		return err
	}
	if err := tx.Runs().Insert(ctx, run, stepRows(f.Pipeline)); err != nil {
		return err
	}
	now, err := tx.DatabaseTime(ctx)
	if err != nil {
		return err
	}
	for key, status := range f.Steps {
		row := controlplane.StepRow{Run: run.ID, Key: key, Status: status, Sealed: f.Sealed[key]}
		if _, err := tx.Steps().Move(ctx, row, now); err != nil {
			return err
		}
	}
	if err := l.adoptRunSecrets(ctx, tx, run, f); err != nil {
		return err
	}
	return l.adoptSecrets(ctx, tx, d, f)
}

// adoptRunSecrets stores the values that the node got for this run: the project's
// secrets may have other values by now, or in the restored database.
func (l *Lifecycle) adoptRunSecrets(ctx context.Context, tx *postgres.Tx,
	run controlplane.Run, f DescribedDeployment) error {
	for name, value := range f.Values {
		sealed, err := l.keys.SealRunSecret(run.ID, name, controlplane.NewPlain(value))
		if err != nil {
			return err
		}
		if _, err := tx.Secrets().InsertForRun(ctx, run, name, sealed); err != nil {
			return err
		}
	}
	return nil
}

// adoptSecrets stores the values that were generated for this deployment, since its
// volumes and users were created with them.
func (l *Lifecycle) adoptSecrets(ctx context.Context, tx *postgres.Tx,
	d controlplane.Deployment, f DescribedDeployment) error {
	for name, value := range f.Values {
		s, ok, err := tx.Secrets().ByName(ctx, d.ProjectID, name)
		if err != nil {
			return err
		}
		if !ok || s.Rule == nil {
			continue
		}
		sealed, err := l.keys.SealGenerated(d.ID, name, controlplane.NewPlain(value))
		if err != nil {
			return err
		}
		if _, err := tx.Secrets().InsertForDeployment(ctx, d.ID, name, sealed); err != nil {
			return err
		}
	}
	return nil
}
