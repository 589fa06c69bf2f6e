package cli

import (
	"context"

	"github.com/nullops/nullops/controlplane/apiclient"
)

// templateBodies are a project's templates as a document has them.
func (c *client) templateBodies(
	ctx context.Context, project string,
) (map[string]apiclient.TemplatePut, error) {
	r, err := c.ListTemplatesWithResponse(ctx, project)
	if err := checkAnswer(r, err); err != nil {
		return nil, err
	}
	all := map[string]apiclient.TemplatePut{}
	for _, t := range r.JSON200.Items {
		all[t.Name] = tidyTemplate(apiclient.TemplatePut{
			Description: &t.Description, Environment: t.Environment, Versions: &t.Versions,
			Input:          t.Input,
			DeploymentName: t.DeploymentName, Wait: &t.Wait, Priority: t.Priority,
		})
	}
	return all, nil
}

// tidyTemplate leaves out empty fields.
func tidyTemplate(t apiclient.TemplatePut) apiclient.TemplatePut {
	t.Description, t.Wait = nilIfZero(valueOrZero(t.Description)), nilIfZero(valueOrZero(t.Wait))
	t.Environment, t.DeploymentName = nilIfZero(
		valueOrZero(t.Environment),
	), nilIfZero(
		valueOrZero(t.DeploymentName),
	)
	if len(valueOrZero(t.Versions)) == 0 {
		t.Versions = nil
	}
	return t
}
