package catalog

import (
	"context"
	"fmt"
	"reflect"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// EnvironmentPut is what an admin says about an environment.
type EnvironmentPut struct {
	Name        string
	Domain      string
	Description string
	Restricted  bool
	// CleanupAfterHours is zero for never.
	CleanupAfterHours int
	// IgnoreVisits makes visits to a deployment's URLs no activity.
	IgnoreVisits bool
	// IgnorePresence stores nobody's last request to a deployment's URLs.
	IgnorePresence bool
	// Placement is what every deployment in it asks of nodes.
	Placement controlplane.Placement
	// Capacity is how room on its nodes is counted.
	Capacity controlplane.CapacityRules
}

// ListEnvironments returns one page of what the actor may see, and the next page's cursor.
func (c *Catalog) ListEnvironments(
	ctx context.Context, actor access.Actor, p controlplane.Page,
) (all []controlplane.Environment, next string, err error) {
	if err := access.Check(actor, access.Self, access.Object{}); err != nil {
		return nil, "", err
	}
	scope := access.ReadableScope(actor)
	v := postgres.VisibleScope{
		All:          scope.All,
		Unrestricted: len(scope.Projects) > 0,
		Granted:      []string{},
	}
	for _, id := range scope.Environments {
		v.Granted = append(v.Granted, string(id))
	}
	err = c.store.Read(ctx, func(tx *postgres.Tx) (err error) {
		all, err = tx.Environments().List(ctx, v, p.After, p.FetchLimit())
		return err
	})
	all, next = controlplane.CutPage(p, all, func(e controlplane.Environment) string { return e.Name })
	return all, next, err
}

// GetEnvironment loads one environment.
func (c *Catalog) GetEnvironment(
	ctx context.Context, actor access.Actor, name string,
) (e controlplane.Environment, err error) {
	if err := access.Check(actor, access.Self, access.Object{}); err != nil {
		return e, err
	}
	err = c.store.Read(ctx, func(tx *postgres.Tx) (err error) {
		e, err = tx.Environments().ByName(ctx, name)
		return err
	})
	if err == nil && !access.CanSeeEnvironment(actor, e.ID, e.Restricted) {
		return controlplane.Environment{}, controlplane.NewNotFoundError("environment", name)
	}
	return e, err
}

// PutEnvironment makes or changes an environment.
func (c *Catalog) PutEnvironment(
	ctx context.Context, actor access.Actor, p EnvironmentPut,
) (out controlplane.SaveResult[controlplane.Environment], err error) {
	object := "environment " + p.Name
	err = c.changeAsAdmin(ctx, actor, "put environment", object, func(tx *postgres.Tx) error {
		if err := checkEnvironment(p); err != nil {
			return err
		}
		if err := c.checkSibling(p.Name, p.Domain); err != nil {
			return err
		}
		if p.Placement, err = p.Placement.Normalize("placement"); err != nil {
			return err
		}
		out, err = putEnvironment(ctx, tx, p)
		return err
	})
	return out, err
}

func checkEnvironment(p EnvironmentPut) error {
	if err := controlplane.ValidName("name", p.Name); err != nil {
		return err
	}
	if !controlplane.IsDomain(p.Domain) {
		return controlplane.NewInvalidError("domain", "domain_invalid",
			fmt.Sprintf("%q is not a domain", controlplane.ClipText(p.Domain)),
			"Write it in lowercase without a leading dot, scheme or port, such as qa.example.org.")
	}
	if err := checkCleanup(p.CleanupAfterHours); err != nil {
		return err
	}
	if err := p.Capacity.Check("capacity"); err != nil {
		return err
	}
	return checkDescription(p.Description)
}

// checkCleanup allows up to ten years: longer is what zero is for.
func checkCleanup(hours int) error {
	const most = 87600
	if hours < 0 || hours > most {
		return controlplane.NewInvalidError("cleanup_after_hours", "range",
			fmt.Sprintf("%d hours; give 1 to %d", hours, most), "Use 0 for never.")
	}
	return nil
}

func putEnvironment(
	ctx context.Context, tx *postgres.Tx, p EnvironmentPut,
) (out controlplane.SaveResult[controlplane.Environment], err error) {
	old, err := tx.Environments().ByName(ctx, p.Name)
	exists, err := controlplane.IsFound(err)
	if err != nil {
		return out, err
	}
	e := old
	e.Name, e.Domain, e.Description, e.Restricted = p.Name, p.Domain, p.Description, p.Restricted
	e.CleanupAfterHours, e.IgnoreVisits = p.CleanupAfterHours, p.IgnoreVisits
	e.IgnorePresence = p.IgnorePresence
	e.Placement, e.Capacity = p.Placement, p.Capacity
	if !exists {
		e.ID = controlplane.NewID[controlplane.EnvironmentID]()
	}
	out.Created, out.Changed, out.Object = !exists, !reflect.DeepEqual(e, old), e
	if !out.Changed {
		return out, nil
	}
	if exists {
		tx.RecordChange(old, e)
	}
	tx.NotifyOnCommit(controlplane.TopicCatalog, "")
	tx.NotifyOnCommit(controlplane.TopicAccess, "")
	return out, tx.Environments().Put(ctx, e)
}

// DeleteEnvironment removes an environment without nodes and deployments.
func (c *Catalog) DeleteEnvironment(ctx context.Context, actor access.Actor, name string) error {
	object := "environment " + name
	return c.changeAsAdmin(ctx, actor, "delete environment", object, func(tx *postgres.Tx) error {
		e, err := tx.Environments().ByName(ctx, name)
		if err != nil {
			return err
		}
		tx.NotifyOnCommit(controlplane.TopicCatalog, "")
		tx.NotifyOnCommit(controlplane.TopicAccess, "")
		return tx.Environments().Delete(ctx, e.ID)
	})
}
