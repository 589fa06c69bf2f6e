package catalog

import (
	"context"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/pipeline"
)

// ProjectPut is what an admin says about a project.
type ProjectPut struct {
	Name        string
	Description string
	Resources   pipeline.Resources
	Cleanup     controlplane.Cleanup
	// Placement is added to the environment's.
	Placement controlplane.Placement
	// Environments name where it may be deployed; none is everywhere.
	Environments []string
	// PipelineFollows says that a pipeline is saved in the same transaction, which is
	// held to the new limits instead of the stored one.
	PipelineFollows bool
}

// ProjectView is a project and what a person chooses when deploying it.
type ProjectView struct {
	controlplane.Project
	Services []ProjectService
}

// ProjectService is one service of the current pipeline: a label when it is
// pinned, a choice when it is selectable.
type ProjectService struct {
	Step    pipeline.StepKey
	Service string
	// Image is registry/repository, without a tag.
	Image   string
	TagMode pipeline.TagMode
	Tag     string
	Pattern string
	// Job: the step is a job.
	Job bool
}

// ListProjects returns one page of what the actor may see, and the next page's cursor.
func (c *Catalog) ListProjects(
	ctx context.Context, actor access.Actor, p controlplane.Page,
) (views []ProjectView, next string, err error) {
	if err := access.Check(actor, access.Self, access.Object{}); err != nil {
		return nil, "", err
	}
	scope := access.ReadableScope(actor)
	v := postgres.VisibleScope{All: scope.All, Granted: []string{}, Deployable: []string{}}
	for _, id := range scope.Projects {
		v.Granted = append(v.Granted, string(id))
	}
	for _, id := range scope.Deployable {
		v.Deployable = append(v.Deployable, string(id))
	}
	err = c.store.Read(ctx, func(tx *postgres.Tx) error {
		all, err := tx.Projects().List(ctx, v, p.After, p.FetchLimit())
		if err != nil {
			return err
		}
		all, next = controlplane.CutPage(p, all, func(x controlplane.Project) string { return x.Name })
		if err := countVisible(ctx, tx, scope, all); err != nil {
			return err
		}
		views, err = c.readViews(ctx, tx, all)
		return err
	})
	return views, next, err
}

// mostChoices times about a kilobyte is what memory takes.
const mostChoices = 1024

// versionChoices are what the version of a pipeline in one row lets people choose.
type versionChoices struct {
	state    string
	services []ProjectService
}

// readViews reads pipelines that are others than when they were last looked at.
func (c *Catalog) readViews(
	ctx context.Context, tx *postgres.Tx, all []controlplane.Project,
) ([]ProjectView, error) {
	ids := make([]controlplane.ProjectID, len(all))
	for i, p := range all {
		ids[i] = p.ID
	}
	states, err := tx.Pipelines().ListLatestStates(ctx, ids...)
	if err != nil {
		return nil, err
	}
	views := make([]ProjectView, len(all))
	for i, p := range all {
		if known, ok := c.choices.Get(p.ID); ok && known.state == states[p.ID] {
			views[i] = ProjectView{Project: p, Services: known.services}
			continue
		}
		if views[i], err = readView(ctx, tx, p); err != nil {
			return nil, err
		}
		c.choices.Add(p.ID, versionChoices{states[p.ID], views[i].Services})
	}
	return views, nil
}

func readView(ctx context.Context, tx *postgres.Tx, p controlplane.Project) (ProjectView, error) {
	out := ProjectView{Project: p}
	v, ok, err := tx.Pipelines().GetLatest(ctx, p.ID)
	if err != nil || !ok {
		return out, err
	}
	for _, key := range v.Pipeline.Order {
		step, _ := v.Pipeline.Step(key)
		c := step.Container()
		if c == nil || c.Image == nil {
			continue
		}
		image := c.Image
		out.Services = append(out.Services, ProjectService{
			Step: key, Service: c.Name, Job: step.Job != nil,
			Image:   image.Registry + "/" + image.Repository,
			TagMode: image.TagMode, Tag: image.Tag, Pattern: image.Pattern,
		})
	}
	return out, nil
}

// GetProject loads one project.
func (c *Catalog) GetProject(
	ctx context.Context, actor access.Actor, name string,
) (out ProjectView, err error) {
	err = c.store.Read(ctx, func(tx *postgres.Tx) error {
		p, err := readProject(ctx, tx, actor, name)
		if err != nil {
			return err
		}
		one := []controlplane.Project{p}
		if err := countVisible(ctx, tx, access.ReadableScope(actor), one); err != nil {
			return err
		}
		out, err = readView(ctx, tx, one[0])
		return err
	})
	return out, err
}

// countVisible replaces the projects' numbers of deployments by those that the scope
// shows: not everyone who sees a project may know how much others run.
func countVisible(
	ctx context.Context, tx *postgres.Tx, scope access.Scope, all []controlplane.Project,
) error {
	if scope.All || len(all) == 0 {
		return nil
	}
	ids := make([]controlplane.ProjectID, len(all))
	for i, p := range all {
		ids[i] = p.ID
	}
	visible, err := tx.Projects().CountVisibleDeployments(ctx, ids, scope.Projects,
		scope.Environments)
	for i := range all {
		all[i].Deployments = visible[all[i].ID]
	}
	return err
}

// readProject loads a project that the actor may read.
func readProject(
	ctx context.Context, tx *postgres.Tx, actor access.Actor, name string,
) (controlplane.Project, error) {
	if !actor.SignedIn() {
		return controlplane.Project{}, access.Check(actor, access.Self, access.Object{})
	}
	p, err := tx.Projects().ByName(ctx, name)
	if err != nil {
		return p, err
	}
	return p, access.Check(actor, access.ReadProject,
		access.Object{What: "project", Name: name, Project: p.ID, Limited: p.Environments})
}

// PutProject makes or changes a project. Limits may not fall below what its
// current pipeline asks for.
func (c *Catalog) PutProject(
	ctx context.Context, actor access.Actor, p ProjectPut,
) (out controlplane.SaveResult[ProjectView], err error) {
	err = c.changeAsAdmin(ctx, actor, "put project", "project "+p.Name, func(tx *postgres.Tx) error {
		if err := checkProject(p); err != nil {
			return err
		}
		if p.Placement, err = p.Placement.Normalize("placement"); err != nil {
			return err
		}
		out, err = putProject(ctx, tx, p)
		return err
	})
	return out, err
}

func checkProject(p ProjectPut) error {
	if err := controlplane.ValidName("name", p.Name); err != nil {
		return err
	}
	if r := p.Resources; math.IsNaN(r.CPU) || r.CPU < 0 || r.CPU > 1024 {
		return controlplane.NewInvalidError(
			"resources.cpu", "range", "a CPU limit is 0 to 1024 cores",
			"Use 0 for no limit.")
	}
	if r := p.Resources; r.MemoryMiB < 0 || r.MemoryMiB > 16<<20 {
		return controlplane.NewInvalidError(
			"resources.memory_mib", "range", "a memory limit is 0 to 16777216 MiB",
			"Use 0 for no limit.")
	}
	if err := checkCleanup(p.Cleanup.Hours); err != nil {
		return err
	}
	return checkDescription(p.Description)
}

func putProject(
	ctx context.Context, tx *postgres.Tx, p ProjectPut,
) (out controlplane.SaveResult[ProjectView], err error) {
	old, err := tx.Projects().ByName(ctx, p.Name)
	exists, err := controlplane.IsFound(err)
	if err != nil {
		return out, err
	}
	x := old
	x.Name, x.Description, x.Resources = p.Name, p.Description, p.Resources
	x.Cleanup, x.Placement = p.Cleanup, p.Placement
	if !exists {
		x.ID = controlplane.NewID[controlplane.ProjectID]()
	}
	if err := limitEnvironments(ctx, tx, p.Environments, &x); err != nil {
		return out, err
	}
	out.Created, out.Changed = !exists, !reflect.DeepEqual(x, old)
	if out.Object, err = readView(ctx, tx, x); err != nil || !out.Changed {
		return out, err
	}
	if !p.PipelineFollows {
		if err := stillFits(ctx, tx, x); err != nil {
			return out, err
		}
	}
	if exists {
		tx.RecordChange(old, x)
	}
	tx.NotifyOnCommit(controlplane.TopicCatalog, "")
	return out, tx.Projects().Put(ctx, x)
}

// limitEnvironments sets where the project may be deployed. It is refused while it
// runs elsewhere: a limit that does not hold would be believed.
func limitEnvironments(
	ctx context.Context, tx *postgres.Tx, names []string, p *controlplane.Project,
) error {
	p.Environments, p.EnvironmentNames = []controlplane.EnvironmentID{}, []string{}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		e, err := tx.Environments().ByName(ctx, name)
		if controlplane.KindOf(err) == controlplane.NotFound {
			return controlplane.NewInvalidError(
				"environments", "unknown", "there is no environment "+name,
				"Name environments that exist.")
		}
		if err != nil {
			return err
		}
		p.Environments = append(p.Environments, e.ID)
		p.EnvironmentNames = append(p.EnvironmentNames, e.Name)
	}
	if len(p.Environments) == 0 {
		return nil
	}
	elsewhere, err := tx.Projects().ListDeploymentsOutside(ctx, p.ID, p.Environments)
	if err != nil || len(elsewhere) == 0 {
		return err
	}
	return &controlplane.Error{Kind: controlplane.Conflict, Code: "in_use", Field: "environments",
		Message: "project " + p.Name + " runs outside of these environments: " +
			strings.Join(elsewhere, ", "),
		Remedy: "Name their environments too, or remove these deployments first."}
}

func stillFits(ctx context.Context, tx *postgres.Tx, p controlplane.Project) error {
	v, ok, err := tx.Pipelines().GetLatest(ctx, p.ID)
	if err != nil || !ok {
		return err
	}
	for _, x := range pipeline.Validate(v.Pipeline, pipeline.Settings{Limits: p.Resources}) {
		if strings.Contains(x.Field, "resources") {
			return controlplane.NewInvalidError(
				strings.TrimPrefix(x.Field, "service."), "over_limit", x.Message,
				"Raise the limit, or save a smaller pipeline first.")
		}
	}
	return nil
}

// DeleteProject removes a project without deployments, with its versions,
// secrets and grants.
func (c *Catalog) DeleteProject(ctx context.Context, actor access.Actor, name string) error {
	return c.changeAsAdmin(ctx, actor, "delete project", "project "+name, func(tx *postgres.Tx) error {
		p, err := tx.Projects().ByName(ctx, name)
		if err != nil {
			return err
		}
		tx.NotifyOnCommit(controlplane.TopicCatalog, "")
		tx.NotifyOnCommit(controlplane.TopicAccess, "")
		return tx.Projects().Delete(ctx, p.ID)
	})
}
