package lifecycle

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/pipeline"
)

// Request is what a person may choose: a name, where, versions, and the input that the
// pipeline declares. Everything else is the pipeline's.
type Request struct {
	Name        string
	Project     string
	Environment string
	// Versions are tags by step, for selectable services.
	Versions map[pipeline.StepKey]string
	// Digests are images to run whatever their tags mean now, by step.
	Digests map[pipeline.StepKey]string `json:",omitempty"`
	// Version is the pipeline's; zero is the latest.
	Version int `json:",omitempty"`
	// Input are values of the fields that the pipeline declares.
	Input map[string]any `json:",omitempty"`
	// Inherited says that Input is an earlier run's: fields that the pipeline no longer declares
	// are left out.
	Inherited bool `json:",omitempty"`
	// From is the deployment that it is a copy of; empty for none.
	From controlplane.DeploymentID `json:",omitempty"`
	// KnownAs is the name that its services are told; empty is Name. It is set when a deployment is
	// prepared beside another one, whose name it gets, which is Beside.
	KnownAs string                    `json:",omitempty"`
	Beside  controlplane.DeploymentID `json:",omitempty"`
	// KeepData has it begin with what is in the volumes of Beside, which is stopped for that.
	KeepData bool `json:",omitempty"`
	// Hours is how long it lives without activity; zero is what its project or environment says.
	Hours int `json:",omitempty"`
	// Required are labels that its node must have, besides what the environment and the
	// project ask for.
	Required []controlplane.Selector `json:",omitempty"`
	// Only and Avoid are ids of nodes, and Owner is the creator to record. They are set
	// when a deployment moves.
	Only  string `json:",omitempty"`
	Avoid string `json:",omitempty"`
	Owner string `json:",omitempty"`
	// Claimed is the id of the node that has claimed it before it moves.
	Claimed string `json:",omitempty"`
	// Wait queues the deployment when there is no room, or no run to spare on
	// the node; otherwise it is refused then. Lower priorities come first.
	Wait     bool
	Priority int
	// Patience is how long it may take until the deployment is ready, waiting in the queue
	// included; zero means no limit.
	Patience time.Duration
	// Draft is a pipeline to run in place of a published one, with everything it
	// uses in it; see Scratch.
	Draft *pipeline.Pipeline `json:",omitempty"`
	// Key makes the same request twice one deployment, for a day.
	Key string
}

// Create checks everything, fixes tags to digests, finds and reserves room, and
// stores the deployment. It is refused as a whole or there as a whole.
func (l *Lifecycle) Create(
	ctx context.Context, actor access.Actor, r Request,
) (controlplane.Deployment, error) {
	var made controlplane.Deployment
	err := cmp.Or(checkReserved(actor, r.Name), checkChosenVersion(actor, r))
	if err != nil {
		return made, l.recordRefusal(ctx, actor, "create", r.Name, err)
	}
	plan, err := l.makePlan(ctx, actor, r)
	if err != nil {
		return made, l.recordRefusal(ctx, actor, "create", r.Name, err)
	}
	if err := l.fail.Hit("create.planned"); err != nil {
		return made, err
	}
	if plan.answers, err = l.askForNew(ctx, actor, r, plan); err != nil {
		return made, l.recordRefusal(ctx, actor, "create", r.Name, err)
	}
	// What was placed does not need it any more.
	defer l.withdrawOffer(ctx, plan.answers.claim)
	entry := actor.NewAuditEntry("create deployment", "deployment "+r.Name)
	entry.Project, entry.Environment = plan.target.ProjectID, plan.env.ID
	entry.Detail = listInput(r.Input)
	err = l.store.InAuditedTx(ctx, entry, func(tx *postgres.Tx) error {
		earlier, err := findRepeated(ctx, tx, actor, r)
		if err != nil || earlier != "" {
			// The first entry says who made it.
			made.ID, entry.Detail = earlier, "repeated"
			return err
		}
		if made, err = l.insertDeployment(ctx, tx, actor, r, plan); err != nil {
			return err
		}
		return l.fail.Hit("create.commit")
	})
	if err != nil {
		return controlplane.Deployment{}, err
	}
	l.fail.Pass("create.committed")
	return l.Get(ctx, actor, made.ID)
}

// checkChosenVersion lets only admins choose a version of the pipeline. Everybody else runs the
// latest, which is the one that admins published for them.
func checkChosenVersion(actor access.Actor, r Request) error {
	if r.Version == 0 {
		return nil
	}
	return inField("pipeline_version", access.Check(actor, access.Admin, access.Object{}))
}

// recordRefusal writes down an attempt that never reached a transaction.
func (l *Lifecycle) recordRefusal(
	ctx context.Context, actor access.Actor, verb, name string, why error,
) error {
	if !actor.SignedIn() {
		return why
	}
	entry := actor.NewAuditEntry(verb+" deployment", "deployment "+name)
	if err := l.store.RecordRefusal(ctx, *entry, why); err != nil {
		l.log.ErrorContext(ctx, "audit of a refusal was not written", "error", err)
	}
	return why
}

// newDeployment is a deployment that is not stored yet.
func newDeployment(actor access.Actor, r Request, p plan) controlplane.Deployment {
	return controlplane.Deployment{ID: controlplane.NewID[controlplane.DeploymentID](),
		Name: r.Name, ProjectID: p.target.ProjectID, Project: p.target.Project,
		EnvironmentID: p.env.ID, Environment: p.env.Name, Domain: p.env.Domain,
		Versions: p.versions, Resources: p.ask.Resources, CreatedBy: cmp.Or(r.Owner, actor.Name())}
}

// askForNew asks nodes for a new deployment. One that may wait is stored first, and nodes are
// asked while it is in the queue.
func (l *Lifecycle) askForNew(
	ctx context.Context, actor access.Actor, r Request, p plan,
) (a nodeAnswers, err error) {
	if r.Wait {
		return a, nil
	}
	d := newDeployment(actor, r, p)
	a, err = l.askNodes(ctx, nodeQuestion{deployment: d, user: d.CreatedBy, plan: p,
		check: func(ctx context.Context, tx *postgres.Tx) error {
			if earlier, err := findRepeated(ctx, tx, actor, r); err != nil {
				return err
			} else if earlier != "" {
				return errRepeated
			}
			if err := nameIsFree(ctx, tx, d); err != nil {
				return err
			}
			return hostsAreFree(ctx, tx, d, p.pipeline)
		}})
	if errors.Is(err, errRepeated) {
		return nodeAnswers{}, nil
	}
	return a, err
}

// errRepeated ends the questions to nodes for a request that was answered before.
var errRepeated = errors.New("the request was answered before")

// insertDeployment stores what was planned, on the node with the most room.
func (l *Lifecycle) insertDeployment(
	ctx context.Context,
	tx *postgres.Tx,
	actor access.Actor,
	r Request,
	p plan,
) (controlplane.Deployment, error) {
	d := newDeployment(actor, r, p)
	if err := nameIsFree(ctx, tx, d); err != nil {
		return d, err
	}
	if err := hostsAreFree(ctx, tx, d, p.pipeline); err != nil {
		return d, err
	}
	spot, err := choosePlacement(ctx, tx, d.EnvironmentID, p, r.Wait)
	if err != nil {
		return d, l.countRefusals(err)
	}
	if err := l.fail.Hit("create.placed"); err != nil {
		return d, err
	}
	assignNode(&d, &p, spot.node)
	if err := tx.Deployments().Insert(ctx, d, deploymentHosts(d, p.pipeline)); err != nil {
		return d, err
	}
	if err := tx.Lifetimes().AddActivity(ctx, d.ID, controlplane.ActivityCreated,
		actor.Name()); err != nil {
		return d, err
	}
	if err := comesFrom(ctx, tx, actor, d.ID, r.From); err != nil {
		return d, err
	}
	if r.Draft != nil {
		if err := tx.Lifetimes().SetScratch(ctx, d.ID); err != nil {
			return d, err
		}
	}
	if r.Hours > 0 {
		if err := tx.Lifetimes().SetLifetime(ctx, d.ID, r.Hours); err != nil {
			return d, err
		}
	}
	if err := standBeside(ctx, tx, actor, d, r, p.pipeline); err != nil {
		return d, err
	}
	entry := controlplane.QueueEntry{Wait: r.Wait, Priority: r.Priority, Patience: r.Patience}
	run := plannedRun{actor: actor, plan: p, place: spot, entry: entry}
	if err := l.insertRun(ctx, tx, d, run); err != nil {
		return d, err
	}
	if r.Key != "" {
		return d, tx.IdempotencyKeys().RecordResult(ctx, actor.UserID(), "createDeployment", r.Key,
			digestRequest(r),
			string(d.ID))
	}
	return d, nil
}

// plannedRun is what a run is made of: its pipeline, where it goes, and how it waits.
type plannedRun struct {
	actor access.Actor
	plan  plan
	place placementResult
	entry controlplane.QueueEntry
}

// insertRun adds a run with pending steps, and notifies watchers.
func (l *Lifecycle) insertRun(
	ctx context.Context, tx *postgres.Tx, d controlplane.Deployment, r plannedRun,
) error {
	p := r.plan
	run := controlplane.Run{ID: controlplane.NewID[controlplane.RunID](), Deployment: d.ID,
		Project: d.ProjectID, Version: p.target.Version, Pipeline: p.pipeline, Input: p.input,
		StartedBy: r.actor.Name()}
	key, err := l.keys.NewRunKey(run.ID)
	if err != nil {
		return fmt.Errorf("make run key: %w", err)
	}
	run.Key = key
	if err := tx.Runs().Insert(ctx, run, stepRows(p.pipeline)); err != nil {
		return err
	}
	if err := tx.Offers().Attach(ctx, run.ID, p.answers.asked); err != nil {
		return err
	}
	r.entry.Run, r.entry.Deployment = run.ID, d.ID
	if err := enqueueRun(ctx, tx, d, p.ask, r.place, r.entry); err != nil {
		return err
	}
	tx.NotifyOnCommit(controlplane.TopicNode, string(d.NodeID))
	_, err = tx.History().Add(ctx, d, controlplane.History{Kind: controlplane.HistoryDeployment})
	return err
}

// enqueueRun begins the run's way through the queue; most pass at once.
func enqueueRun(
	ctx context.Context,
	tx *postgres.Tx,
	d controlplane.Deployment,
	a ResourceRequest,
	at placementResult,
	e controlplane.QueueEntry,
) error {
	e.Scope = string(d.EnvironmentID)
	switch {
	case d.NodeID != "":
		e.Scope = string(d.NodeID)
	case at.asks != "":
		e.Reason = askingReason(at.asks)
	default:
		e.Reason = waitsForRoom(at.refused)
		// The nodes' figures are needed as they are now.
		tx.NotifyOnCommit(controlplane.TopicWatch, "")
	}
	var err error
	if e.Ask, err = json.Marshal(a); err != nil {
		return fmt.Errorf("write what is asked for: %w", err)
	}
	return tx.Queue().Add(ctx, e, at.starts)
}

func stepRows(p pipeline.Pipeline) []controlplane.StepRow {
	rows := make([]controlplane.StepRow, 0, len(p.Order))
	for i, key := range p.Order {
		s, _ := p.Step(key)
		row := controlplane.StepRow{Key: key, Position: i + 1, Kind: pipeline.KindPlugin}
		switch {
		case s.Service != nil:
			row.Kind, row.Title = pipeline.KindService, s.Service.Name+":"+s.Service.Image.Tag
		case s.Job != nil:
			row.Kind, row.Title = pipeline.KindJob, s.Job.Name+":"+s.Job.Image.Tag
		case s.Approval != nil:
			row.Kind, row.Title = pipeline.KindApproval, "approval"
		case s.IsPinned():
			row.Kind, row.Title = "script", "pinned"
		case s.Script != nil:
			row.Kind, row.Title = "script", "script"
		default:
			row.Title = s.Plugin.Name + ":" + s.Plugin.Image.Tag
		}
		rows = append(rows, row)
	}
	return rows
}

// findRepeated finds what the same request made before, to answer it again.
func findRepeated(ctx context.Context, tx *postgres.Tx, actor access.Actor,
	r Request) (controlplane.DeploymentID, error) {
	if r.Key == "" || actor.UserID() == "" {
		return "", nil
	}
	id, err := tx.IdempotencyKeys().FindObject(ctx, actor.UserID(), "createDeployment", r.Key,
		digestRequest(r))
	return controlplane.DeploymentID(id), err
}

func digestRequest(r Request) [32]byte {
	r.Key = ""
	// A struct of strings and a map of strings always marshals, keys sorted.
	text, _ := json.Marshal(r)
	return sha256.Sum256(text)
}

// nameIsFree fails with a readable error; the unique index prevents races.
func nameIsFree(ctx context.Context, tx *postgres.Tx, d controlplane.Deployment) error {
	same, err := tx.Deployments().Find(ctx, postgres.DeploymentFilter{Everything: true,
		Name: d.Name, Environment: d.Environment, Most: 1})
	if err != nil || len(same) == 0 {
		return err
	}
	return &controlplane.Error{Kind: controlplane.Conflict, Code: "name_taken", Field: "name",
		Message: fmt.Sprintf("the name %s is taken in environment %s", d.Name, d.Environment),
		Remedy:  "Choose another name, or remove the deployment that has it."}
}

// hostsAreFree finds the rare names that differ and yet make the same address,
// such as a--b of c and b--c of a; the primary key holds it against races.
func hostsAreFree(ctx context.Context, tx *postgres.Tx, d controlplane.Deployment,
	p pipeline.Pipeline) error {
	if err := addressesFit(d, p); err != nil {
		return err
	}
	taken, err := tx.Hosts().ListInUse(ctx, deploymentHosts(d, p))
	if err != nil || len(taken) == 0 {
		return err
	}
	return &controlplane.Error{Kind: controlplane.Conflict, Code: "host_taken", Field: "name",
		Message: "the address " + taken[0] + " belongs to another deployment",
		Remedy:  "Choose another name."}
}
