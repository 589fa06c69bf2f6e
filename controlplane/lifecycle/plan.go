package lifecycle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/pipeline"
)

// plan is everything about a new run that is decided before a node is chosen.
type plan struct {
	// actor is who will read why there is no room.
	actor    access.Actor
	target   postgres.RunTarget
	env      controlplane.Environment
	pipeline pipeline.Pipeline
	versions []controlplane.ServiceVersion
	// input has a value for each field that the pipeline declares, as far as it needs one.
	input map[string]any
	// required are the labels that the request itself asks for.
	required []controlplane.Selector
	ask      ResourceRequest
	// answers is what nodes said that had to be asked.
	answers nodeAnswers
}

// makePlan checks access, the name, the versions and the secrets, and resolves each tag at its
// registry. It fails with the first refusal, and asks no registry after one.
func (l *Lifecycle) makePlan(
	ctx context.Context, actor access.Actor, r Request,
) (p plan, err error) {
	p.actor = actor
	c := &checks{}
	_, err = l.checkDefinition(ctx, actor, r, c, &p)
	if err = c.refusalOr(err); err != nil {
		return p, err
	}
	return p, c.refusalOr(l.checkImages(ctx, actor, r, c, &p))
}

// checkDefinition checks what the database knows: the request, its target, and the pipeline.
// It reports false if what failed prevents the rest; the plan is incomplete then.
func (l *Lifecycle) checkDefinition(
	ctx context.Context, actor access.Actor, r Request, c *checks, p *plan,
) (goOn bool, err error) {
	if err := access.Check(actor, access.Self, access.Object{}); err != nil {
		return false, err
	}
	err = c.record("name", "", "The name has the right form.", controlplane.ValidName("name", r.Name))
	if err != nil {
		return false, err
	}
	p.required, err = checkRequired(r, c)
	if err != nil || c.hasFailed("labels") {
		return false, err
	}
	if err := l.resolveTarget(ctx, actor, r, c, p); err != nil ||
		c.hasFailed("project", "environment", "access") {
		return false, err
	}
	if err = l.validatePipeline(p.target, r, c); err != nil || c.hasFailed("pipeline") {
		return false, err
	}
	p.input, err = checkInput(p.target.Pipeline, r, c)
	return true, err
}

// checkImages asks the registries, and completes the plan with their answers, unless one of
// them fails.
func (l *Lifecycle) checkImages(
	ctx context.Context, actor access.Actor, r Request, c *checks, p *plan,
) error {
	found, err := l.resolveVersions(ctx, actor, p.target.Pipeline, r, c)
	if err != nil || found == nil {
		return err
	}
	filled, problems := pipeline.WithVersions(p.target.Pipeline, found.versions)
	if len(problems) > 0 {
		return c.record("version", "", "", versionProblems(problems))
	}
	p.pipeline, p.versions = filled, listVersions(filled)
	p.ask = resourceRequest(filled, p.env.Placement.Combine(p.target.Placement))
	p.ask.Arches, p.ask.Only, p.ask.Avoid = found.commonArches(), r.Only, r.Avoid
	p.ask.Required, p.ask.Claimed = p.required, r.Claimed
	return l.checkPlatforms(ctx, *p, *found, c)
}

// checkRequired checks the form of the labels that the request itself asks for.
func checkRequired(r Request, c *checks) ([]controlplane.Selector, error) {
	if len(r.Required) == 0 {
		return nil, nil
	}
	all, err := controlplane.NormalizeSelectors("required_labels", r.Required)
	return all, c.record("labels", "", "The required labels have the right form.", err)
}

// resolveTarget finds where the deployment goes, and whether the actor may put it there.
// What the actor may not see is answered like what does not exist.
func (l *Lifecycle) resolveTarget(
	ctx context.Context, actor access.Actor, r Request, c *checks, p *plan,
) error {
	return l.store.Read(ctx, func(tx *postgres.Tx) error {
		project, environment, err := l.findTarget(ctx, tx, actor, r, p)
		if err != nil {
			return err
		}
		if err := c.record("project", r.Project, "The project is there.", project); err != nil {
			return err
		}
		err = c.record("environment", r.Environment, "The environment is there.", environment)
		if err != nil || c.hasFailed("project", "environment") {
			return err
		}
		err = c.record("access", "", "You may create it.",
			access.Check(actor, access.WriteDeployment, p.accessObject()))
		if err != nil || c.hasFailed("access") || len(p.target.Environments) == 0 {
			return err
		}
		return c.record("limit", r.Environment, "The project may be deployed into the environment.",
			p.withinLimit())
	})
}

// findTarget reads project and environment into p. project and environment are the errors of the
// field that names each: it does not exist, or the actor may not see it. err is any other error.
func (l *Lifecycle) findTarget(ctx context.Context, tx *postgres.Tx, actor access.Actor,
	r Request, p *plan) (project, environment, err error) {
	var noProject, noEnvironment error
	p.target, noProject = readTarget(ctx, tx, r)
	p.env, noEnvironment = tx.Environments().GetTarget(ctx, r.Environment)
	for _, no := range []error{noProject, noEnvironment} {
		if no != nil && controlplane.KindOf(no) != controlplane.NotFound {
			return nil, nil, no
		}
	}
	// A grant on either of them shows both, unless the environment is restricted.
	both := noProject == nil && noEnvironment == nil &&
		access.Level(actor, p.accessObject()) != controlplane.LevelNone
	if noEnvironment == nil && !both &&
		!access.CanSeeEnvironment(actor, p.env.ID, p.env.Restricted) {
		noEnvironment, p.env = controlplane.NewNotFoundError("environment", r.Environment),
			controlplane.Environment{}
	}
	if p.target.ProjectID != "" && !both && access.Check(actor, access.ReadProject,
		access.Object{Project: p.target.ProjectID, Limited: p.target.Environments}) != nil {
		noProject, p.target = controlplane.NewNotFoundError("project", r.Project), postgres.RunTarget{}
	}
	return inField("project", noProject), inField("environment", noEnvironment), nil
}

// accessObject is what access to a new deployment is checked for.
func (p *plan) accessObject() access.Object {
	return access.Object{What: "project", Name: p.target.Project, Project: p.target.ProjectID,
		Environment: p.env.ID, Restricted: p.env.Restricted, Limited: p.target.Environments}
}

// withinLimit refuses an environment that an admin did not name for the project.
func (p *plan) withinLimit() error {
	if slices.Contains(p.target.Environments, p.env.ID) {
		return nil
	}
	return &controlplane.Error{Kind: controlplane.Conflict, Code: "environment_not_allowed",
		Field: "environment", Message: "project " + p.target.Project +
			" may not be deployed into environment " + p.env.Name,
		Remedy: "Choose another environment, or ask an admin to name it in the project."}
}

// readTarget reads what a run is made from: the latest version, or one asked for.
func readTarget(ctx context.Context, tx *postgres.Tx, r Request) (postgres.RunTarget, error) {
	t, err := tx.Projects().LoadRunTarget(ctx, r.Project)
	if err == nil && r.Draft != nil {
		t.Pipeline = *r.Draft
		return t, nil
	}
	if err != nil || r.Version == 0 || r.Version == t.Version {
		return t, err
	}
	v, err := tx.Pipelines().GetVersion(ctx, t.ProjectID, r.Version)
	if controlplane.KindOf(err) == controlplane.NotFound {
		err = controlplane.NewInvalidError("pipeline_version", "pipeline_version_unknown",
			fmt.Sprintf("project %s has no version %d of its pipeline", t.Project, r.Version),
			"Choose one that exists: nullops pipeline versions "+t.Project+".")
	}
	t.Version, t.Pipeline = v.Version, v.Pipeline
	return t, err
}

// validatePipeline checks the saved pipeline against the project as that is now.
func (l *Lifecycle) validatePipeline(t postgres.RunTarget, r Request, c *checks) error {
	var none error
	if t.Version == 0 && r.Draft == nil {
		none = &controlplane.Error{Kind: controlplane.Conflict, Code: "no_pipeline",
			Field: "project", Message: "project " + t.Project + " has no pipeline yet",
			Remedy: "An admin saves one first."}
	}
	what := pipelineLabel(t, r)
	err := c.record("pipeline", "", "It runs "+what+".", none)
	if err != nil || none != nil {
		return err
	}
	if err := checkSecrets(t, c); err != nil {
		return err
	}
	found := pipeline.Validate(t.Pipeline, pipeline.Settings{Limits: t.Resources,
		Secrets: pipeline.SecretNames(t.Pipeline)})
	parameters, err := l.catalog.ParameterProblems(t.Pipeline)
	if err != nil {
		return err
	}
	for _, f := range found {
		parameters = append(parameters, controlplane.Problem{Step: string(f.Step), Field: f.Field,
			Code: f.Code, Message: f.Message})
	}
	return reportProblems(what, parameters, c)
}

// pipelineLabel names the pipeline that would run.
func pipelineLabel(t postgres.RunTarget, r Request) string {
	if r.Draft != nil {
		return "the draft"
	}
	return fmt.Sprintf("pipeline version %d", t.Version)
}

// checkSecrets fails for references to secrets that have no value, before anything
// starts.
func checkSecrets(t postgres.RunTarget, c *checks) error {
	names := pipeline.SecretNames(t.Pipeline)
	for _, name := range names {
		if slices.Contains(t.Secrets, name) {
			continue
		}
		if err := c.record("secret", name, "", &controlplane.Error{Kind: controlplane.Conflict,
			Code: "secret_missing", Field: "secrets." + name,
			Message: fmt.Sprintf("the pipeline reads secret %s, which has no value", name),
			Remedy:  "An admin sets it in project " + t.Project + "."}); err != nil {
			return err
		}
	}
	if c.hasFailed("secret") {
		return nil
	}
	c.recordOK("secret", "Each secret that it reads has a value.")
	return nil
}

// reportProblems adds the problems of a saved pipeline to the checks. It had none when
// it was saved, but the project and our rules may have changed since.
func reportProblems(what string, problems []controlplane.Problem, c *checks) error {
	for _, p := range problems {
		id := "schema"
		if isReference(p.Code) {
			id = "reference"
		}
		if err := c.record(id, p.Step, "", &controlplane.Error{Kind: controlplane.Conflict,
			Code: "pipeline_outdated", Field: "pipeline." + p.Field,
			Message: fmt.Sprintf("%s, step %s, %s: %s", what, cmp.Or(p.Step, "-"), p.Field,
				p.Message),
			Remedy:   "An admin mends it and publishes a new version.",
			Problems: []controlplane.Problem{p}}); err != nil {
			return err
		}
	}
	if !c.hasFailed("schema") {
		c.recordOK("schema", "Every field fits its schema.")
	}
	if !c.hasFailed("reference") {
		c.recordOK("reference", "Every reference leads somewhere.")
	}
	return nil
}

// isReference reports whether a problem is about ${{ … }} or needs.
func isReference(code string) bool {
	return slices.Contains([]string{"unknown_secret", "unknown_step", "unknown_output",
		"optional_output", "not_ancestor", "unknown_service", "no_port", "not_exposed", "syntax",
		"cycle", "unknown_input", "optional_input"}, code)
}

// unresolved is the placeholder of a digest while only the rules are checked.
const unresolved = "sha256:0000000000000000000000000000000000000000000000000000000000000000"

func versionProblems(problems []pipeline.Problem) error {
	e := &controlplane.Error{Kind: controlplane.Invalid, Code: "version_refused",
		Field: "versions." + string(problems[0].Step), Message: problems[0].Message,
		Remedy: "Choose one of the versions that the service offers."}
	for _, p := range problems {
		e.Problems = append(e.Problems, controlplane.Problem{Step: string(p.Step),
			Field: "versions." + string(p.Step), Code: p.Code, Message: p.Message})
	}
	return e
}

// listVersions lists the versions as people read them, in the order of the run.
func listVersions(p pipeline.Pipeline) []controlplane.ServiceVersion {
	var all []controlplane.ServiceVersion
	for _, key := range p.Order {
		s, _ := p.Step(key)
		c := s.Container()
		if c == nil {
			continue
		}
		i := c.Image
		all = append(all, controlplane.ServiceVersion{Step: key, Service: c.Name,
			Image: i.Registry + "/" + i.Repository, TagMode: i.TagMode, Tag: i.Tag,
			Digest: i.Digest, Ports: c.Ports, Job: s.Job != nil})
	}
	return all
}

// inField names the field in an error that does not know where it is.
func inField(field string, err error) error {
	var e *controlplane.Error
	if !errors.As(err, &e) {
		return err
	}
	named := *e
	named.Field = field
	return &named
}
