package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/audit"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/registry"
	"github.com/nullops/nullops/pipeline"
)

// PluginPut is what an admin says about a plugin.
type PluginPut struct {
	Name      string
	Registry  string
	Image     string
	Tag       string
	Component pipeline.Component
}

// ListPlugins returns one page of plugins and the next page's cursor.
func (c *Catalog) ListPlugins(
	ctx context.Context, actor access.Actor, p controlplane.Page,
) (all []controlplane.Plugin, next string, err error) {
	if err := access.Check(actor, access.Self, access.Object{}); err != nil {
		return nil, "", err
	}
	if !access.CanSeeCatalog(actor) {
		return nil, "", nil
	}
	err = c.store.Read(ctx, func(tx *postgres.Tx) (err error) {
		all, err = tx.Plugins().List(ctx, p.After, p.FetchLimit())
		return err
	})
	all, next = controlplane.CutPage(p, all, func(x controlplane.Plugin) string { return x.Name })
	return all, next, err
}

// GetPlugin loads one plugin.
func (c *Catalog) GetPlugin(
	ctx context.Context, actor access.Actor, name string,
) (p controlplane.Plugin, err error) {
	if err := checkSeesCatalog(actor, "plugin", name); err != nil {
		return p, err
	}
	err = c.store.Read(ctx, func(tx *postgres.Tx) (err error) {
		p, err = tx.Plugins().ByName(ctx, name)
		return err
	})
	return p, err
}

// PutPlugin creates or changes a plugin. Its tag is resolved now and the digest
// stored: a moved tag changes nothing until the plugin is saved again.
func (c *Catalog) PutPlugin(
	ctx context.Context, actor access.Actor, p PluginPut,
) (out controlplane.SaveResult[controlplane.Plugin], err error) {
	const action = "put plugin"
	object := "plugin " + p.Name
	if err := audit.RequireAdmin(ctx, c.store, actor, action, object); err != nil {
		return out, err
	}
	digest, err := c.preparePlugin(ctx, &p)
	if err != nil {
		return out, audit.RecordRefusal(ctx, c.store, actor, action, object, err)
	}
	err = c.changeAsAdmin(ctx, actor, action, object, func(tx *postgres.Tx) error {
		out, err = putPlugin(ctx, tx, p, digest)
		return err
	})
	return out, err
}

// preparePlugin does what needs no transaction: the checks, and the question
// to the registry.
func (c *Catalog) preparePlugin(ctx context.Context, p *PluginPut) (digest string, err error) {
	if err := controlplane.ValidName("name", p.Name); err != nil {
		return "", err
	}
	if err := registry.CheckRepository("image", p.Image); err != nil {
		return "", err
	}
	if err := checkComponent(&p.Component); err != nil {
		return "", err
	}
	var r controlplane.Registry
	err = c.store.Read(ctx, func(tx *postgres.Tx) (err error) {
		r, err = tx.Registries().ByName(ctx, p.Registry)
		return err
	})
	if controlplane.KindOf(err) == controlplane.NotFound {
		return "", controlplane.NewInvalidError("registry", "unknown_registry",
			"registry "+p.Registry+" does not exist",
			"Create the registry first, or correct the name.")
	}
	if err != nil {
		return "", err
	}
	source, err := c.registrySource(r, p.Image)
	if err != nil {
		return "", err
	}
	return c.resolveDigest(ctx, source, p.Tag)
}

func putPlugin(
	ctx context.Context, tx *postgres.Tx, p PluginPut, digest string,
) (out controlplane.SaveResult[controlplane.Plugin], err error) {
	old, err := tx.Plugins().ByName(ctx, p.Name)
	exists, err := controlplane.IsFound(err)
	if err != nil {
		return out, err
	}
	x := controlplane.Plugin{
		ID: old.ID, Name: p.Name, Registry: p.Registry, Host: old.Host, Insecure: old.Insecure,
		Image: p.Image, Tag: p.Tag, Digest: digest, Component: p.Component,
	}
	out.Created, out.Object = !exists, x
	out.Changed = !exists || !reflect.DeepEqual(x, old)
	if !out.Changed {
		return out, nil
	}
	if !exists {
		x.ID = controlplane.NewID[controlplane.PluginID]()
	} else {
		tx.RecordChange(old, x)
	}
	tx.NotifyOnCommit(controlplane.TopicCatalog, "")
	if err := tx.Plugins().Put(ctx, x); err != nil {
		return out, err
	}
	out.Object, err = tx.Plugins().ByName(ctx, p.Name)
	return out, err
}

// checkComponent refuses a component that cannot work, and normalizes it as the
// database does, so that comparing finds no difference.
func checkComponent(component *pipeline.Component) error {
	if len(component.Actions) == 0 {
		component.Actions = []string{"create"}
	}
	for i, action := range component.Actions {
		if !slices.Contains([]string{"create", "delete", "check"}, action) {
			return controlplane.NewInvalidError(
				fmt.Sprintf("component.actions[%d]", i), "action_invalid",
				fmt.Sprintf("%q is not an action", action), "Use create, delete or check.")
		}
	}
	if !slices.Contains(component.Actions, "create") {
		return controlplane.NewInvalidError(
			"component.actions", "action_missing", "a plugin has the action create",
			"Add create.")
	}
	if component.TimeoutSeconds < 0 || component.TimeoutSeconds > 86400 {
		return controlplane.NewInvalidError("component.timeout_seconds", "range",
			"a timeout is 1 to 86400 seconds", "Leave it out for 300 seconds.")
	}
	if err := checkSchema("component.parameters", component.Parameters); err != nil {
		return err
	}
	if err := checkSchema("component.outputs", component.Outputs); err != nil {
		return err
	}
	b, err := json.Marshal(component)
	if err != nil {
		return fmt.Errorf("encode component: %w", err)
	}
	*component = pipeline.Component{}
	return json.Unmarshal(b, component)
}

// DeletePlugin removes a plugin that no current pipeline uses.
func (c *Catalog) DeletePlugin(ctx context.Context, actor access.Actor, name string) error {
	return c.changeAsAdmin(ctx, actor, "delete plugin", "plugin "+name, func(tx *postgres.Tx) error {
		p, err := tx.Plugins().ByName(ctx, name)
		if err != nil {
			return err
		}
		tx.NotifyOnCommit(controlplane.TopicCatalog, "")
		return tx.Plugins().Delete(ctx, p.ID)
	})
}
