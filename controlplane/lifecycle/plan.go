package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/pipeline"
)

// plan is everything about a new run that can be known before a node is chosen.
type plan struct {
	target   postgres.Target
	env      controlplane.Environment
	pipeline pipeline.Pipeline
	versions []controlplane.ServiceVersion
	ask      Ask
}

// plan checks access, the name, the versions and the secrets, and asks the
// registries what each tag stands for now.
func (l *Lifecycle) plan(ctx context.Context, actor access.Actor, r Request) (plan, error) {
	var p plan
	if err := access.Check(actor, access.Self, access.Object{}); err != nil {
		return p, err
	}
	if err := controlplane.ValidName("name", r.Name); err != nil {
		return p, err
	}
	err := l.store.Read(ctx, func(tx *postgres.Tx) (err error) {
		if p.target, err = tx.Target(ctx, r.Project); err != nil {
			return err
		}
		p.env, err = tx.TargetEnvironment(ctx, r.Environment)
		return err
	})
	if err != nil {
		return p, err
	}
	if err := access.Check(actor, access.WriteDeployment, access.Object{What: "project",
		Name: r.Project, Project: p.target.ProjectID, Environment: p.env.ID,
		Restricted: p.env.Restricted}); err != nil {
		return p, err
	}
	return l.complete(ctx, actor, p, r.Versions)
}

// complete fills versions in; the rest of the plan is there.
func (l *Lifecycle) complete(
	ctx context.Context, actor access.Actor, p plan, tags map[pipeline.StepKey]string,
) (plan, error) {
	if p.target.Version == 0 {
		return p, &controlplane.Error{Kind: controlplane.Conflict, Code: "no_pipeline",
			Field: "project", Message: "project " + p.target.Project + " has no pipeline yet",
			Remedy: "An admin saves one first."}
	}
	if err := missingSecrets(p.target); err != nil {
		return p, err
	}
	versions, err := l.resolve(ctx, actor, p.target.Pipeline, tags)
	if err != nil {
		return p, err
	}
	filled, problems := pipeline.WithVersions(p.target.Pipeline, versions)
	if len(problems) > 0 {
		return p, versionProblems(problems)
	}
	p.pipeline, p.versions = filled, chosen(filled)
	p.ask = ask(filled, p.env.Placement.With(p.target.Placement))
	return p, nil
}

// resolve gives each service its tag and that tag's digest, asking all
// registries at once. The rule of the service is checked before it asks.
func (l *Lifecycle) resolve(ctx context.Context, actor access.Actor, p pipeline.Pipeline,
	tags map[pipeline.StepKey]string) (map[pipeline.StepKey]pipeline.Version, error) {
	wanted := map[pipeline.StepKey]pipeline.Version{}
	for key, tag := range tags {
		wanted[key] = pipeline.Version{Tag: tag, Digest: unresolved}
	}
	for _, s := range p.Steps {
		if _, ok := wanted[s.Key]; !ok && s.Service != nil && s.Service.Image.Tag != "" {
			wanted[s.Key] = pipeline.Version{Tag: s.Service.Image.Tag, Digest: unresolved}
		}
	}
	if _, problems := pipeline.WithVersions(p, wanted); len(problems) > 0 {
		return nil, versionProblems(problems)
	}
	keys := slices.Sorted(maps.Keys(wanted))
	digests := make([]string, len(keys))
	group, ctx := errgroup.WithContext(ctx)
	for i, key := range keys {
		group.Go(func() (err error) {
			s, _ := p.Step(key)
			digests[i], err = l.catalog.ResolveTag(ctx, actor, *s.Service.Image,
				wanted[key].Tag)
			return inField("versions."+string(key), err)
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for i, key := range keys {
		wanted[key] = pipeline.Version{Tag: wanted[key].Tag, Digest: digests[i]}
	}
	return wanted, nil
}

// unresolved stands for a digest while only the rules are checked.
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

// chosen lists the versions as people read them, in the order of the run.
func chosen(p pipeline.Pipeline) []controlplane.ServiceVersion {
	var all []controlplane.ServiceVersion
	for _, key := range p.Order {
		s, _ := p.Step(key)
		if s.Service == nil {
			continue
		}
		i := s.Service.Image
		all = append(all, controlplane.ServiceVersion{Step: key, Service: s.Service.Name,
			Image: i.Registry + "/" + i.Repository, TagMode: i.TagMode, Tag: i.Tag,
			Digest: i.Digest, Ports: s.Service.Ports})
	}
	return all
}

// missingSecrets names references that have no value, before anything starts.
func missingSecrets(t postgres.Target) error {
	for _, name := range pipeline.SecretNames(t.Pipeline) {
		if !slices.Contains(t.Secrets, name) {
			return &controlplane.Error{Kind: controlplane.Conflict, Code: "secret_missing",
				Field:   "secrets." + name,
				Message: fmt.Sprintf("the pipeline reads secret %s, which has no value", name),
				Remedy:  "An admin sets it in project " + t.Project + "."}
		}
	}
	return nil
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
