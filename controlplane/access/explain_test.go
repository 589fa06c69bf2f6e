package access_test

import (
	"slices"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
)

// An admin who views as a person sees what that person may do, but cannot do it.
func TestExplain_ThroughAnothersEyes(t *testing.T) {
	grant := onProject(shop, controlplane.LevelFull)
	named := []controlplane.GrantOfTeam{{Team: "storefront", Grant: grant, ProjectName: "shop"}}
	o := access.Object{Project: shop}
	viewed := userWith(grant).ViewedBy(adminActor())
	if x := access.Explain(viewed, o, "shop", "", named); x.Level != controlplane.LevelFull ||
		x.Missing != "" || len(x.Because) != 1 {
		t.Errorf("viewed: %+v", x)
	}
	if access.Level(viewed, o) != controlplane.LevelRead {
		t.Error("more than reading through another's eyes")
	}
	if x := access.Explain(userWith(grant).AsReadOnly(), o, "shop", "", named); x.Missing !=
		"this token only reads: use one with the scope full" {
		t.Errorf("a token that only reads: %+v", x)
	}
	if x := access.Explain(userWith().AsReadOnly(), o, "shop", "", nil); x.Missing !=
		"no team of yours has access to project shop" {
		t.Errorf("a token that only reads, of a stranger: %+v", x)
	}
}

// The explanation names the teams that grant the level, and what more takes.
func TestExplain_NamesReasonsAndWhatIsMissing(t *testing.T) {
	read, full := controlplane.LevelRead, controlplane.LevelFull
	named := func(g controlplane.Grant) controlplane.GrantOfTeam {
		n := controlplane.GrantOfTeam{Team: "web", Grant: g}
		if g.Project != "" {
			n.ProjectName = "shop"
		} else {
			n.EnvironmentName = "qa"
		}
		return n
	}
	const (
		team  = "team web has read access to "
		opens = "full access to an environment reaches the secrets of every project that may be " +
			"deployed there, through its deployments"
		shows  = "full access to an environment shows every project that may be deployed there"
		takes  = "full access takes a team with full access to "
		closed = "the environment is restricted: it takes a team with a grant on the environment itself"
	)
	both := access.Object{Project: shop, Environment: qa}
	restricted := both
	restricted.Restricted = true
	for name, c := range map[string]struct {
		grants  []controlplane.Grant
		o       access.Object
		level   controlplane.Level
		because []string
		missing string
	}{
		"nothing": {nil, both, "", nil, "no team of yours has access to project shop or environment qa"},
		"of no use": {[]controlplane.Grant{onProject(blog, full), onEnvironment(stage, full)}, both, "",
			nil, "no team of yours has access to project shop or environment qa"},
		"reads the project": {[]controlplane.Grant{onProject(shop, read)}, both, read,
			[]string{team + "project shop"}, takes + "project shop or environment qa"},
		"reads the environment": {[]controlplane.Grant{onEnvironment(qa, read)},
			access.Object{Environment: qa}, read, []string{team + "environment qa"},
			takes + "environment qa"},
		"owns the environment": {[]controlplane.Grant{onEnvironment(qa, full)}, both, full,
			[]string{"team web has full access to environment qa", opens}, ""},
		"restricted": {[]controlplane.Grant{onProject(shop, full)}, restricted, "",
			[]string{"team web has full access to project shop"}, closed},
		"restricted, own": {[]controlplane.Grant{onEnvironment(qa, read)}, restricted, read,
			[]string{team + "environment qa"}, takes + "project shop or environment qa"},
		"project through an environment": {[]controlplane.Grant{onEnvironment(stage, full)},
			access.Object{Project: shop}, read, []string{shows}, takes + "project shop"},
		"nothing named": {nil, access.Object{}, "", nil,
			"no team of yours has access to it, if it exists at all"},
	} {
		var grants []controlplane.GrantOfTeam
		for _, g := range c.grants {
			grants = append(grants, named(g))
		}
		project, environment := "", ""
		if c.o.Project != "" {
			project = "shop"
		}
		if c.o.Environment != "" {
			environment = "qa"
		}
		x := access.Explain(userWith(c.grants...), c.o, project, environment, grants)
		if x.Level != c.level || !slices.Equal(x.Because, c.because) || x.Missing != c.missing {
			t.Errorf("%s: %+v", name, x)
		}
	}
	for missing, a := range map[string]access.Actor{
		"": adminActor(), "this token only reads: use one with the scope full": adminActor().AsReadOnly(),
	} {
		x := access.Explain(a, both, "shop", "qa", nil)
		if !slices.Equal(x.Because, []string{"ada is an admin"}) || x.Missing != missing {
			t.Errorf("an admin: %+v", x)
		}
	}
}
