package lifecycle

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/pipeline"
)

// CloneSheet is what a clone would run, and how that differs from the source.
type CloneSheet struct {
	Source controlplane.Deployment
	// Name is a free one.
	Name string
	// Version is the latest pipeline version, which the clone would run.
	Version  int
	Services []CloneService
	Input    []CloneInput
	Changes  pipeline.Diff
	// Before and After are what all services together may use.
	Before, After pipeline.Resources
	// Carried is what the clone takes over, Left what it does not.
	Carried, Left []string
}

// CloneState is how a service of a clone differs from its source's.
type CloneState string

// The states.
const (
	CloneSame    CloneState = "same"
	CloneAdded   CloneState = "added"
	CloneRemoved CloneState = "removed"
)

// CloneService is one service of the source, of the clone, or of both.
type CloneService struct {
	Step  pipeline.StepKey
	State CloneState
	Name  string
	Image pipeline.Image
	// SourceTag and SourceDigest are what the source runs.
	SourceTag, SourceDigest string
	// Moved is set when that tag means another image now.
	Moved bool
	// Newest is the newest tag that may be chosen; empty if it could not be determined.
	Newest string
	// Branch is what the source's tag was built from, and NewestOfBranch the newest tag of
	// it. Both are empty if the tag names no branch.
	Branch, NewestOfBranch string
	// Choice is the tag that the clone runs by default.
	Choice string
}

// CloneSheet returns what cloning a deployment now would run.
func (l *Lifecycle) CloneSheet(ctx context.Context, actor access.Actor,
	id controlplane.DeploymentID) (s CloneSheet, err error) {
	var before, now pipeline.Pipeline
	err = l.store.Read(ctx, func(tx *postgres.Tx) error {
		if s.Source, err = readDeployment(ctx, tx, actor, id); err != nil {
			return err
		}
		then, err := tx.Pipelines().GetVersion(ctx, s.Source.ProjectID, s.Source.Version)
		if err != nil {
			return err
		}
		t, err := tx.Projects().LoadRunTarget(ctx, s.Source.Project)
		if err != nil {
			return err
		}
		before, now, s.Version = then.Pipeline, t.Pipeline, t.Version
		s.Name, err = freeName(ctx, tx, s.Source)
		return err
	})
	if err != nil {
		return s, err
	}
	s.Before, s.After = resourceRequest(before, controlplane.Placement{}).Resources,
		resourceRequest(now, controlplane.Placement{}).Resources
	if s.Changes, err = pipeline.Compare(before, now); err != nil {
		return s, err
	}
	s.Input = pairInput(s.Source.Input, before, now)
	s.Services = pairServices(s.Source.Versions, now)
	l.lookUpVersions(ctx, actor, s.Services)
	s.Carried, s.Left = listCarried(s.Services, s.Input), []string{"data in volumes and databases",
		"outputs of plugins", "generated secrets", "holds and the time that is left"}
	return s, nil
}

// pairServices pairs the services and jobs of the source with those of the pipeline now.
func pairServices(versions []controlplane.ServiceVersion, now pipeline.Pipeline) []CloneService {
	var all []CloneService
	for _, v := range versions {
		c := CloneService{Step: v.Step, State: CloneRemoved, Name: v.Service, SourceTag: v.Tag,
			SourceDigest: v.Digest, Image: pipeline.Image{TagMode: v.TagMode}}
		c.Image.Registry, c.Image.Repository, _ = strings.Cut(v.Image, "/")
		s, _ := now.Step(v.Step)
		if is := s.Container(); is != nil {
			c.State, c.Name, c.Image = CloneSame, is.Name, *is.Image
			c.Choice = v.Tag
			if c.Image.TagMode == pipeline.Pinned {
				c.Choice = c.Image.Tag
			}
		}
		all = append(all, c)
	}
	for _, s := range now.Steps {
		known := slices.ContainsFunc(versions,
			func(v controlplane.ServiceVersion) bool { return v.Step == s.Key })
		if c := s.Container(); c != nil && !known {
			all = append(all, CloneService{Step: s.Key, State: CloneAdded, Name: c.Name,
				Image: *c.Image, Choice: c.Image.Tag})
		}
	}
	slices.SortStableFunc(all, func(a, b CloneService) int { return cmp.Compare(a.Step, b.Step) })
	return all
}

// lookUpVersions asks the registries for the newest tags, and whether the source's
// tags moved. If a registry does not answer, its fields stay empty.
func (l *Lifecycle) lookUpVersions(ctx context.Context, actor access.Actor, all []CloneService) {
	var asking sync.WaitGroup
	free := make(chan struct{}, askAtOnce)
	for i := range all {
		c := &all[i]
		if c.State == CloneRemoved {
			continue
		}
		free <- struct{}{}
		asking.Go(func() {
			defer func() { <-free }()
			if c.SourceTag != "" && c.SourceTag == c.Choice {
				facts, err := l.catalog.ResolveTag(ctx, actor, c.Image, c.SourceTag)
				c.Moved = err == nil && facts.Digest != c.SourceDigest
			}
			if c.Image.TagMode == pipeline.Selectable {
				c.Newest, _ = l.catalog.NewestTag(ctx, actor, c.Image)
				c.Choice = cmp.Or(c.Choice, c.Newest)
			}
			if c.Image.TagMode == pipeline.Selectable && c.SourceTag != "" {
				c.Branch, c.NewestOfBranch, _ = l.catalog.NewestOfBranch(ctx, actor, c.Image,
					c.SourceTag)
			}
		})
	}
	asking.Wait()
}

func listCarried(all []CloneService, input []CloneInput) []string {
	out := []string{"project and environment"}
	for _, c := range all {
		if c.State == CloneSame && c.Image.TagMode == pipeline.Selectable {
			out = append(out, fmt.Sprintf("%s:%s", c.Step, c.Choice))
		}
	}
	for _, i := range input {
		if i.State == CloneSame && i.Source != nil && i.Problem == "" {
			out = append(out, "input "+i.Name)
		}
	}
	return out
}

// freeName proposes name-2, name-3 and so on.
func freeName(
	ctx context.Context, tx *postgres.Tx, d controlplane.Deployment,
) (string, error) {
	const longest = 36
	base := strings.TrimRight(d.Name[:min(len(d.Name), longest)], "-")
	for n := 2; n < 100; n++ {
		name := fmt.Sprintf("%s-%d", base, n)
		err := nameIsFree(ctx, tx, controlplane.Deployment{Name: name, Environment: d.Environment})
		if controlplane.CodeOf(err) != "name_taken" {
			return name, err
		}
	}
	return base, nil
}
