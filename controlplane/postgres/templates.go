package postgres

import (
	"context"
	"fmt"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
)

// List returns a project's templates, by name.
func (t Templates) List(
	ctx context.Context, project controlplane.ProjectID,
) ([]controlplane.Template, error) {
	rows, err := t.q.ListTemplates(ctx, string(project))
	if err != nil {
		return nil, fmt.Errorf("list templates: %w", err)
	}
	all := make([]controlplane.Template, len(rows))
	for i, r := range rows {
		if all[i], err = toTemplate(r); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Get reads one template of a project.
func (t Templates) Get(
	ctx context.Context, project controlplane.ProjectID, name string,
) (controlplane.Template, error) {
	r, err := t.q.GetTemplate(ctx, string(project), name)
	if err != nil {
		return controlplane.Template{}, translateMissing(err, "template", name)
	}
	return toTemplate(r)
}

func toTemplate(r dbsqlc.Template) (controlplane.Template, error) {
	var out controlplane.Template
	err := decodeJSON(r.Data, &out)
	out.Name, out.UpdatedBy, out.UpdatedAt = r.Name, r.UpdatedBy, r.UpdatedAt
	return out, err
}

// Put makes or changes a template.
func (t Templates) Put(
	ctx context.Context, project controlplane.ProjectID, x controlplane.Template,
) error {
	data, err := encodeJSON(x)
	if err != nil {
		return err
	}
	err = t.q.PutTemplate(ctx, dbsqlc.PutTemplateParams{ProjectID: string(project), Name: x.Name,
		Data: data, UpdatedBy: x.UpdatedBy})
	if err != nil {
		return fmt.Errorf("put template %s: %w", x.Name, translateError(err))
	}
	return nil
}

// Delete deletes one that exists.
func (t Templates) Delete(
	ctx context.Context, project controlplane.ProjectID, name string,
) error {
	n, err := t.q.DeleteTemplate(ctx, string(project), name)
	if err != nil {
		return fmt.Errorf("delete template %s: %w", name, translateError(err))
	}
	if n == 0 {
		return controlplane.NewNotFoundError("template", name)
	}
	return nil
}
