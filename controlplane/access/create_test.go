package access_test

import (
	"slices"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
)

// What pages offer: who may see an environment and the catalogue, and create where.
func TestCan_FollowsTheGrants(t *testing.T) {
	all := access.Object{Project: shop}
	limited := access.Object{Project: shop, Limited: []controlplane.EnvironmentID{stage}}
	for name, c := range map[string]struct {
		actor access.Actor
		// sees and creates are for qa, restricted and not.
		sees, seesRestricted, creates, createsRestricted bool
		// createsShop is for the project, createsLimited when it is limited to stage.
		createsShop, createsLimited, createsAny, catalog bool
	}{
		"nobody":   {actor: access.Nobody()},
		"stranger": {actor: userWith()},
		"admin":    {adminActor(), true, true, true, true, true, true, true, true},
		"admin's token that reads": {actor: adminActor().AsReadOnly(), sees: true,
			seesRestricted: true, catalog: true},
		"system": {access.System("fleet"), true, true, true, true, true, true, true, true},
		"an empty grant": {actor: userWith(controlplane.Grant{Level: controlplane.LevelFull}),
			createsAny: true, catalog: true},
		"project read": {actor: userWith(onProject(shop, controlplane.LevelRead)), sees: true,
			catalog: true},
		"project full": {actor: userWith(onProject(shop, controlplane.LevelFull)), sees: true,
			creates: true, createsShop: true, createsLimited: true, createsAny: true, catalog: true},
		"other project full": {actor: userWith(onProject(blog, controlplane.LevelFull)), sees: true,
			creates: true, createsAny: true, catalog: true},
		"project full, token that reads": {
			actor: userWith(onProject(shop, controlplane.LevelFull)).AsReadOnly(), sees: true,
			catalog: true},
		"environment read": {actor: userWith(onEnvironment(qa, controlplane.LevelRead)), sees: true,
			seesRestricted: true, catalog: true},
		"environment full": {actor: userWith(onEnvironment(qa, controlplane.LevelFull)), sees: true,
			seesRestricted: true, creates: true, createsRestricted: true, createsShop: true,
			createsAny: true, catalog: true},
		"other environment full": {actor: userWith(onEnvironment(stage, controlplane.LevelFull)),
			createsShop: true, createsLimited: true, createsAny: true, catalog: true},
		"project full, environment read": {actor: userWith(onProject(shop, controlplane.LevelFull),
			onEnvironment(qa, controlplane.LevelRead)), sees: true, seesRestricted: true,
			creates: true, createsRestricted: true, createsShop: true, createsLimited: true,
			createsAny: true, catalog: true},
	} {
		for what, pair := range map[string][2]bool{
			"see":                 {access.CanSeeEnvironment(c.actor, qa, false), c.sees},
			"see restricted":      {access.CanSeeEnvironment(c.actor, qa, true), c.seesRestricted},
			"create":              {access.CanCreateIn(c.actor, qa, false), c.creates},
			"create restricted":   {access.CanCreateIn(c.actor, qa, true), c.createsRestricted},
			"create shop":         {access.CanCreateOf(c.actor, all), c.createsShop},
			"create limited shop": {access.CanCreateOf(c.actor, limited), c.createsLimited},
			"create anything":     {access.CanCreate(c.actor), c.createsAny},
			"see the catalogue":   {access.CanSeeCatalog(c.actor), c.catalog},
		} {
			if pair[0] != pair[1] {
				t.Errorf("%s: may %s: %v, want %v", name, what, pair[0], pair[1])
			}
		}
	}
	empty := userWith(controlplane.Grant{Level: controlplane.LevelFull})
	if access.CanSeeEnvironment(empty, "", true) {
		t.Error("an empty grant shows an environment without an id")
	}
	if access.CanCreateIn(empty, "", false) || access.CanCreateOf(empty, access.Object{}) {
		t.Error("an empty grant creates")
	}
}

// A grant on an environment reaches a project only where it may be deployed.
func TestLevel_StopsAtTheProjectsLimits(t *testing.T) {
	limited := []controlplane.EnvironmentID{stage}
	here := access.Object{What: "project", Name: "shop", Project: shop, Environment: qa,
		Limited: limited}
	a := userWith(onEnvironment(qa, controlplane.LevelFull), onProject(shop, controlplane.LevelRead))
	if got := access.Level(a, here); got != controlplane.LevelRead {
		t.Errorf("outside of the limits: %q", got)
	}
	inside := userWith(onEnvironment(stage, controlplane.LevelFull))
	if got := access.Level(inside, access.Object{Project: shop, Environment: stage,
		Limited: limited}); got != controlplane.LevelFull {
		t.Errorf("inside of the limits: %q", got)
	}
	for _, c := range []struct {
		actor access.Actor
		kind  controlplane.Kind
	}{
		{userWith(onEnvironment(qa, controlplane.LevelFull)), controlplane.NotFound},
		{inside, ""},
		{a, ""},
		{userWith(controlplane.Grant{Level: controlplane.LevelFull}), controlplane.NotFound},
	} {
		err := access.Check(c.actor, access.ReadProject, here)
		if got := controlplane.KindOf(err); got != c.kind {
			t.Errorf("%+v reads the project: %q, want %q", c.actor, got, c.kind)
		}
	}
	empty := userWith(controlplane.Grant{Level: controlplane.LevelFull})
	if controlplane.KindOf(access.Check(empty, access.ReadProject, access.Object{})) !=
		controlplane.NotFound {
		t.Error("an empty grant reads a project without an id")
	}
}

// The lists of a scope name exactly what the grants do.
func TestReadableScope_ListsTheGrants(t *testing.T) {
	s := access.ReadableScope(userWith(onProject(shop, controlplane.LevelFull),
		onEnvironment(qa, controlplane.LevelRead), onEnvironment(stage, controlplane.LevelFull)))
	if s.All || !slices.Equal(s.Projects, []controlplane.ProjectID{shop}) ||
		!slices.Equal(s.Environments, []controlplane.EnvironmentID{qa, stage}) ||
		!slices.Equal(s.Deployable, []controlplane.EnvironmentID{stage}) {
		t.Errorf("scope %+v", s)
	}
	none := access.ReadableScope(userWith())
	if none.Projects == nil || none.Environments == nil || none.Deployable == nil || none.All {
		t.Errorf("scope of nobody in particular: %+v", none)
	}
}
