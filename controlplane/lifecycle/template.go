package lifecycle

import (
	"context"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// Templates returns the templates of a project's deployments.
func (l *Lifecycle) Templates(
	ctx context.Context, actor access.Actor, project string,
) (all []controlplane.Template, err error) {
	err = l.store.Read(ctx, func(tx *postgres.Tx) error {
		id, err := readableProject(ctx, tx, actor, project)
		if err != nil {
			return err
		}
		all, err = tx.Templates().List(ctx, id)
		return err
	})
	return all, err
}

// Template returns one of them.
func (l *Lifecycle) Template(
	ctx context.Context, actor access.Actor, project, name string,
) (out controlplane.Template, err error) {
	err = l.store.Read(ctx, func(tx *postgres.Tx) error {
		id, err := readableProject(ctx, tx, actor, project)
		if err != nil {
			return err
		}
		out, err = tx.Templates().Get(ctx, id, name)
		return err
	})
	return out, err
}

func readableProject(ctx context.Context, tx *postgres.Tx, actor access.Actor,
	project string) (controlplane.ProjectID, error) {
	if err := access.Check(actor, access.Self, access.Object{}); err != nil {
		return "", err
	}
	p, err := tx.Projects().ByName(ctx, project)
	if err != nil {
		return "", err
	}
	return p.ID, access.Check(actor, access.ReadProject,
		access.Object{What: "project", Name: project, Project: p.ID, Limited: p.Environments})
}

// PutTemplate makes or changes a template. It takes full access to the project.
func (l *Lifecycle) PutTemplate(ctx context.Context, actor access.Actor, project string,
	x controlplane.Template) (out controlplane.Template, err error) {
	err = l.onTemplates(ctx, actor, "put template", project, x.Name,
		func(tx *postgres.Tx, id controlplane.ProjectID) error {
			if err := controlplane.ValidName("template", x.Name); err != nil {
				return err
			}
			if err := checkTemplateInput(ctx, tx, project, id, x); err != nil {
				return err
			}
			x.UpdatedBy = actor.Name()
			if err := tx.Templates().Put(ctx, id, x); err != nil {
				return err
			}
			out, err = tx.Templates().Get(ctx, id, x.Name)
			return err
		})
	return out, err
}

// DeleteTemplate deletes a template. It takes full access to the project.
func (l *Lifecycle) DeleteTemplate(
	ctx context.Context, actor access.Actor, project, name string,
) error {
	return l.onTemplates(ctx, actor, "delete template", project, name,
		func(tx *postgres.Tx, id controlplane.ProjectID) error {
			return tx.Templates().Delete(ctx, id, name)
		})
}

func (l *Lifecycle) onTemplates(ctx context.Context, actor access.Actor, verb, project, name string,
	do func(*postgres.Tx, controlplane.ProjectID) error) error {
	entry := actor.NewAuditEntry(verb, "template "+name+" of "+project)
	return l.store.InAuditedTx(ctx, entry, func(tx *postgres.Tx) error {
		id, err := readableProject(ctx, tx, actor, project)
		if err != nil {
			return err
		}
		entry.Project = id
		err = access.Check(actor, access.WriteDeployment,
			access.Object{What: "project", Name: project, Project: id})
		if err != nil {
			return err
		}
		return do(tx, id)
	})
}
