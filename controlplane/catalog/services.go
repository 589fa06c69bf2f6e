package catalog

import (
	"context"
	"fmt"
	"reflect"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/registry"
	"github.com/nullops/nullops/pipeline"
)

// ServicePut is what an admin says about a service.
type ServicePut struct {
	Name        string
	Registry    string
	Image       string
	TagMode     pipeline.TagMode
	Tag         string
	Pattern     string
	Description string
	// Step is how a new step of it begins; nil means empty.
	Step *pipeline.ServiceStep
}

// ListServices returns one page of services and the next page's cursor.
func (c *Catalog) ListServices(
	ctx context.Context, actor access.Actor, p controlplane.Page,
) (all []controlplane.Service, next string, err error) {
	if err := access.Check(actor, access.Self, access.Object{}); err != nil {
		return nil, "", err
	}
	if !access.CanSeeCatalog(actor) {
		return nil, "", nil
	}
	err = c.store.Read(ctx, func(tx *postgres.Tx) (err error) {
		all, err = tx.Services().List(ctx, p.After, p.FetchLimit())
		return err
	})
	all, next = controlplane.CutPage(p, all, func(s controlplane.Service) string { return s.Name })
	return all, next, err
}

// GetService loads one service.
func (c *Catalog) GetService(
	ctx context.Context, actor access.Actor, name string,
) (s controlplane.Service, err error) {
	if err := checkSeesCatalog(actor, "service", name); err != nil {
		return s, err
	}
	err = c.store.Read(ctx, func(tx *postgres.Tx) (err error) {
		s, err = tx.Services().ByName(ctx, name)
		return err
	})
	return s, err
}

// PutService creates or changes a service. Saved pipelines keep their copy.
func (c *Catalog) PutService(
	ctx context.Context, actor access.Actor, p ServicePut,
) (out controlplane.SaveResult[controlplane.Service], err error) {
	err = c.changeAsAdmin(ctx, actor, "put service", "service "+p.Name, func(tx *postgres.Tx) error {
		if err := checkService(p); err != nil {
			return err
		}
		out, err = putService(ctx, tx, p)
		return err
	})
	return out, err
}

func checkService(p ServicePut) error {
	if err := controlplane.ValidName("name", p.Name); err != nil {
		return err
	}
	if err := registry.CheckRepository("image", p.Image); err != nil {
		return err
	}
	if p.Tag != "" {
		if err := registry.CheckTag("tag", p.Tag); err != nil {
			return err
		}
	}
	if err := checkTagMode(p); err != nil {
		return err
	}
	if err := checkDescription(p.Description); err != nil {
		return err
	}
	return checkServiceStep(p)
}

func checkTagMode(p ServicePut) error {
	switch p.TagMode {
	case pipeline.Pinned:
		if p.Tag == "" {
			return controlplane.NewInvalidError("tag", "required", "a pinned service needs its tag",
				"Name the tag, or make the service selectable.")
		}
		if p.Pattern != "" {
			return controlplane.NewInvalidError(
				"pattern", "pattern_pinned", "a pinned service has no pattern",
				"Leave the pattern out, or make the service selectable.")
		}
		return nil
	case pipeline.Selectable:
		return checkPattern(p.Pattern, p.Tag)
	default:
		return controlplane.NewInvalidError(
			"tag_mode", "tag_mode_invalid", "a tag mode is pinned or selectable",
			"Choose one of the two.")
	}
}

func checkPattern(pattern, tag string) error {
	if err := pipeline.CheckPattern(pattern); err != nil {
		return controlplane.NewInvalidError("pattern", "pattern_invalid", err.Error(),
			"Use * for any characters, ? for one, and / for any one of / - _ .")
	}
	if tag == "" {
		return nil
	}
	if ok, err := pipeline.MatchTag(pattern, tag); err != nil || !ok {
		return controlplane.NewInvalidError("tag", "tag_outside_pattern",
			fmt.Sprintf("the default tag %s does not match the pattern %s", tag, pattern),
			"Choose a default that the pattern allows, or leave it out.")
	}
	return nil
}

func putService(
	ctx context.Context, tx *postgres.Tx, p ServicePut,
) (out controlplane.SaveResult[controlplane.Service], err error) {
	old, err := tx.Services().ByName(ctx, p.Name)
	exists, err := controlplane.IsFound(err)
	if err != nil {
		return out, err
	}
	s := controlplane.Service{
		ID: old.ID, Name: p.Name, Registry: p.Registry, Host: old.Host, Insecure: old.Insecure,
		Image: p.Image, TagMode: p.TagMode, Tag: p.Tag, Pattern: p.Pattern,
		Description: p.Description,
	}
	if s.Step, err = normalizeStep(p); err != nil {
		return out, err
	}
	out.Created, out.Changed, out.Object = !exists, !exists || !reflect.DeepEqual(s, old), s
	if !out.Changed {
		return out, nil
	}
	if !exists {
		s.ID = controlplane.NewID[controlplane.ServiceID]()
	} else {
		tx.RecordChange(old, s)
	}
	tx.NotifyOnCommit(controlplane.TopicCatalog, "")
	if err := tx.Services().Put(ctx, s); err != nil {
		return out, err
	}
	out.Object, err = tx.Services().ByName(ctx, p.Name)
	return out, err
}

// DeleteService removes a service that no current pipeline uses.
func (c *Catalog) DeleteService(ctx context.Context, actor access.Actor, name string) error {
	return c.changeAsAdmin(ctx, actor, "delete service", "service "+name, func(tx *postgres.Tx) error {
		s, err := tx.Services().ByName(ctx, name)
		if err != nil {
			return err
		}
		tx.NotifyOnCommit(controlplane.TopicCatalog, "")
		return tx.Services().Delete(ctx, s.ID)
	})
}
