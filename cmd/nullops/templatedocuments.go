package main

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/nullops/nullops/controlplane/apiclient"
)

// templateBodies are a project's templates as a document has them.
func (c *client) templateBodies(
	ctx context.Context, project string,
) (map[string]apiclient.TemplatePut, error) {
	r, err := c.ListTemplatesWithResponse(ctx, project)
	if err := answered(r, err); err != nil {
		return nil, err
	}
	all := map[string]apiclient.TemplatePut{}
	for _, t := range r.JSON200.Items {
		all[t.Name] = tidyTemplate(apiclient.TemplatePut{
			Description: &t.Description, Environment: t.Environment, Versions: &t.Versions,
			DeploymentName: t.DeploymentName, Wait: &t.Wait, Priority: t.Priority,
		})
	}
	return all, nil
}

// tidyTemplate leaves out what says nothing.
func tidyTemplate(t apiclient.TemplatePut) apiclient.TemplatePut {
	t.Description, t.Wait = given(deref(t.Description)), given(deref(t.Wait))
	t.Environment, t.DeploymentName = given(deref(t.Environment)), given(deref(t.DeploymentName))
	if len(deref(t.Versions)) == 0 {
		t.Versions = nil
	}
	return t
}

func sameTemplate(a, b apiclient.TemplatePut) bool {
	return reflect.DeepEqual(tidyTemplate(a), tidyTemplate(b))
}

// templates sends those that are not as the document wants them.
func (a *applier) templates(ctx context.Context, d document, value any) error {
	wishes, err := decodeBody[map[string]apiclient.TemplatePut](d, value)
	if err != nil {
		return err
	}
	now, err := a.api.templateBodies(ctx, d.Name)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(wishes)) {
		was, exists := now[name]
		what, result := "template "+d.Name+" "+name, "created"
		switch {
		case exists && sameTemplate(was, wishes[name]):
			result = "unchanged"
		case exists:
			result = "changed"
		}
		if result != "unchanged" {
			r, err := a.api.PutTemplateWithResponse(ctx, d.Name, name, wishes[name])
			if err := answered(r, err); err != nil {
				return fmt.Errorf("templates.%s: %w", name, err)
			}
		}
		if err := a.say(what, result); err != nil {
			return err
		}
	}
	return nil
}
