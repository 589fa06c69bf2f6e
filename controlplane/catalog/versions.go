package catalog

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/pipeline"
)

// VersionUsers returns which versions between two are in use: the existing deployments
// that the actor may see.
func (c *Catalog) VersionUsers(
	ctx context.Context, actor access.Actor, project string, oldest, newest int,
) (map[int][]controlplane.PipelineUser, error) {
	users := map[int][]controlplane.PipelineUser{}
	err := c.store.Read(ctx, func(tx *postgres.Tx) error {
		p, err := readProject(ctx, tx, actor, project)
		if err != nil {
			return err
		}
		all, err := tx.Pipelines().ListDeployments(ctx, p.ID, oldest, newest)
		if err != nil {
			return err
		}
		for _, u := range all {
			o := access.Object{
				Project: p.ID, Environment: u.EnvironmentID, Restricted: u.Restricted,
			}
			if access.Check(actor, access.ReadDeployment, o) == nil {
				users[u.Version] = append(users[u.Version], u)
			}
		}
		return nil
	})
	return users, err
}

// VersionDiff is what differs between two versions of one project.
type VersionDiff struct {
	From, To int
	Diff     pipeline.Diff
}

// DiffVersions compares a version with an older one; against zero is the one
// before, and for the first version a pipeline without steps.
func (c *Catalog) DiffVersions(
	ctx context.Context, actor access.Actor, project string, number, against int,
) (VersionDiff, error) {
	if against == 0 {
		against = number - 1
	}
	out := VersionDiff{From: against, To: number}
	err := c.store.Read(ctx, func(tx *postgres.Tx) error {
		p, err := readProject(ctx, tx, actor, project)
		if err != nil {
			return err
		}
		now, err := readVersion(ctx, tx, p.ID, number)
		if err != nil {
			return err
		}
		var old controlplane.PipelineVersion
		if against > 0 {
			if old, err = readVersion(ctx, tx, p.ID, against); err != nil {
				return err
			}
		}
		out.Diff, err = pipeline.Compare(old.Pipeline, now.Pipeline)
		return err
	})
	return out, err
}

// readVersion loads a version by a number that a caller chose.
func readVersion(
	ctx context.Context, tx *postgres.Tx, id controlplane.ProjectID, number int,
) (controlplane.PipelineVersion, error) {
	if number < 1 || number > math.MaxInt32 {
		return controlplane.PipelineVersion{},
			controlplane.NewNotFoundError("pipeline version", strconv.Itoa(number))
	}
	return tx.Pipelines().GetVersion(ctx, id, number)
}

// RestoreVersion saves an old version as the next one, with the images and limits that it carries,
// independent of the current catalogue. It must be valid for the project as it is today. Restoring
// the current version changes nothing.
func (c *Catalog) RestoreVersion(
	ctx context.Context, actor access.Actor, project string, number int,
) (out PipelineSaved, err error) {
	object := fmt.Sprintf("pipeline of %s, version %d", project, number)
	err = c.changeAsAdmin(ctx, actor, "restore pipeline", object, func(tx *postgres.Tx) error {
		x, err := tx.Projects().Lock(ctx, project)
		if err != nil {
			return err
		}
		old, err := readVersion(ctx, tx, x.ID, number)
		if err != nil {
			return err
		}
		settings, err := settingsOf(ctx, tx, x)
		if err != nil {
			return err
		}
		var problems []controlplane.Problem
		for _, found := range pipeline.Validate(old.Pipeline, settings) {
			problems = append(problems, controlplane.Problem{Step: string(found.Step),
				Field: found.Field, Code: found.Code, Message: found.Message})
		}
		if len(problems) > 0 {
			return refusedPipeline(problems)
		}
		out, err = saveVersion(
			ctx,
			tx,
			actor,
			x,
			old.Pipeline,
			fmt.Sprintf("restores version %d", number),
		)
		return err
	})
	return out, err
}

// settingsOf are the parts of a project that its pipelines must agree with.
func settingsOf(
	ctx context.Context, tx *postgres.Tx, x controlplane.Project,
) (pipeline.Settings, error) {
	settings := pipeline.Settings{Limits: x.Resources}
	secrets, err := tx.Secrets().List(ctx, x.ID)
	if err != nil {
		return settings, err
	}
	for _, s := range secrets {
		settings.Secrets = append(settings.Secrets, s.Name)
	}
	return settings, nil
}
