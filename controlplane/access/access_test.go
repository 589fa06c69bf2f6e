package access_test

import (
	"fmt"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
)

const (
	shop  = controlplane.ProjectID("shop")
	blog  = controlplane.ProjectID("blog")
	qa    = controlplane.EnvironmentID("qa")
	stage = controlplane.EnvironmentID("stage")
)

func onProject(p controlplane.ProjectID, l controlplane.Level) controlplane.Grant {
	return controlplane.Grant{Project: p, Level: l}
}

func onEnvironment(e controlplane.EnvironmentID, l controlplane.Level) controlplane.Grant {
	return controlplane.Grant{Environment: e, Level: l}
}

func userWith(grants ...controlplane.Grant) access.Actor {
	u := controlplane.User{ID: "u", Name: "uma", Role: controlplane.RoleUser, Active: true}
	return access.User(u, grants)
}

func adminActor() access.Actor {
	return access.User(controlplane.User{ID: "a", Name: "ada", Role: controlplane.RoleAdmin}, nil)
}

// The whole matrix: every pair of levels a person may have on the project and
// on the environment, restricted or not, against the rule written out.
func TestLevel_FullMatrix(t *testing.T) {
	levels := []controlplane.Level{
		controlplane.LevelNone, controlplane.LevelRead, controlplane.LevelFull,
	}
	for _, p := range levels {
		for _, e := range levels {
			for _, restricted := range []bool{false, true} {
				t.Run(fmt.Sprintf("project=%q env=%q restricted=%v", p, e, restricted),
					func(t *testing.T) { checkCell(t, p, e, restricted) })
			}
		}
	}
}

func checkCell(t *testing.T, p, e controlplane.Level, restricted bool) {
	// Grants on something else must never count.
	grants := []controlplane.Grant{
		onProject(blog, controlplane.LevelFull), onEnvironment(stage, controlplane.LevelFull),
	}
	if p != controlplane.LevelNone {
		grants = append(grants, onProject(shop, p))
	}
	if e != controlplane.LevelNone {
		grants = append(grants, onEnvironment(qa, e))
	}
	want := p.Max(e)
	if restricted && e == controlplane.LevelNone {
		want = controlplane.LevelNone
	}
	a := userWith(grants...)
	o := access.Object{
		What: "deployment", Name: "cart", Project: shop, Environment: qa, Restricted: restricted,
	}
	// promise: N-015
	// promise: N-016
	if got := access.Level(a, o); got != want {
		t.Errorf("level %q, want %q", got, want)
	}
	read := controlplane.KindOf(access.Check(a, access.ReadDeployment, o))
	write := controlplane.KindOf(access.Check(a, access.WriteDeployment, o))
	wantRead, wantWrite := controlplane.Kind(""), controlplane.Kind("")
	switch want {
	case controlplane.LevelNone:
		wantRead, wantWrite = controlplane.NotFound, controlplane.NotFound
	case controlplane.LevelRead:
		wantWrite = controlplane.Forbidden
	}
	if read != wantRead || write != wantWrite {
		t.Errorf("read %q write %q, want %q %q", read, write, wantRead, wantWrite)
	}
	if reveal := controlplane.KindOf(access.Check(a, access.RevealSecret, o)); reveal != wantWrite {
		t.Errorf("reveal %q, want %q", reveal, wantWrite)
	}
	if access.Check(a.AsReadOnly(), access.RevealSecret, o) == nil ||
		access.Check(a.ViewedBy(adminActor()), access.RevealSecret, o) == nil {
		t.Error("a token that only reads, or another's eyes, reveal secrets")
	}
}

// Every action against every kind of actor who has no grant that matters.
func TestCheck_Actions(t *testing.T) {
	o := access.Object{What: "project", Name: "shop", Project: shop, Environment: qa}
	un, fb, nf := controlplane.Unauthenticated, controlplane.Forbidden, controlplane.NotFound
	for _, c := range []struct {
		action                         access.Action
		nobody, stranger, admin, tasks controlplane.Kind
	}{
		{access.Public, "", "", "", ""},
		{access.Self, un, "", "", ""},
		{access.Admin, un, fb, "", ""},
		{access.ReadProject, un, nf, "", ""},
		{access.ReadDeployment, un, nf, "", ""},
		{access.WriteDeployment, un, nf, "", ""},
		{access.AnswerDeployment, un, nf, "", ""},
		{access.RevealSecret, un, nf, "", ""},
		{access.GiveVerdict, un, nf, "", ""},
		{access.Action("typo"), un, fb, fb, fb},
	} {
		for who, pair := range map[string]struct {
			actor access.Actor
			want  controlplane.Kind
		}{
			"nobody":   {access.Nobody(), c.nobody},
			"stranger": {userWith(onProject(blog, controlplane.LevelFull)), c.stranger},
			"admin":    {adminActor(), c.admin},
			"system":   {access.System("fleet"), c.tasks},
		} {
			// promise: N-006
			if got := controlplane.KindOf(access.Check(pair.actor, c.action, o)); got != pair.want {
				t.Errorf("%s %s: %q, want %q", who, c.action, got, pair.want)
			}
			reads := c.action == access.ReadProject || c.action == access.ReadDeployment
			if got := controlplane.KindOf(access.Check(pair.actor.AsReadOnly(), c.action, o)); reads &&
				got != pair.want {
				t.Errorf("%s %s with a token that reads: %q, want %q", who, c.action, got, pair.want)
			}
		}
	}
}

// Two teams with different levels on one object: the higher one counts.
func TestLevel_HighestOfAllTeams(t *testing.T) {
	a := userWith(onProject(shop, controlplane.LevelRead), onProject(shop, controlplane.LevelFull))
	// promise: N-018
	if got := access.Level(a, access.Object{Project: shop}); got != controlplane.LevelFull {
		t.Errorf("level %q", got)
	}
}

// Full on an environment is enough to read any project; read on it is not.
func TestCheck_ProjectThroughEnvironment(t *testing.T) {
	o := access.Object{What: "project", Name: "shop", Project: shop}
	if err := access.Check(userWith(onEnvironment(qa, controlplane.LevelFull)),
		access.ReadProject, o); err != nil {
		t.Errorf("full on an environment: %v", err)
	}
	err := access.Check(userWith(onEnvironment(qa, controlplane.LevelRead)), access.ReadProject, o)
	if controlplane.KindOf(err) != controlplane.NotFound {
		t.Errorf("read on an environment: %v", err)
	}
}

// An empty object must not match an empty grant.
func TestLevel_EmptyIdsNeverMatch(t *testing.T) {
	a := userWith(controlplane.Grant{Level: controlplane.LevelFull})
	if got := access.Level(a, access.Object{}); got != controlplane.LevelNone {
		t.Errorf("level %q", got)
	}
}

// Readable and Level agree on every deployment: a list shows what Check allows.
func TestReadable_AgreesWithLevel(t *testing.T) {
	projects := []controlplane.ProjectID{shop, blog}
	environments := []controlplane.EnvironmentID{qa, stage}
	for _, a := range []access.Actor{
		adminActor(), userWith(), userWith(onProject(shop, controlplane.LevelRead)),
		userWith(onEnvironment(qa, controlplane.LevelRead)),
		userWith(onProject(blog, controlplane.LevelFull), onEnvironment(stage, controlplane.LevelFull)),
	} {
		s := access.ReadableScope(a)
		for _, p := range projects {
			for _, e := range environments {
				for _, restricted := range []bool{false, true} {
					o := access.Object{Project: p, Environment: e, Restricted: restricted}
					if got, want := inScope(s, o), access.Level(a, o) != ""; got != want {
						t.Errorf("%s %+v: in scope %v, level says %v", a.Name(), o, got, want)
					}
				}
			}
		}
	}
}

func inScope(s access.Scope, o access.Object) bool {
	env := false
	for _, e := range s.Environments {
		env = env || e == o.Environment
	}
	project := false
	for _, p := range s.Projects {
		project = project || p == o.Project
	}
	return s.All || (env || project && !o.Restricted)
}

// No level includes a verdict: it takes a team that may say them, on this project or environment.
func TestCheck_VerdictTakesATeamWithThatRight(t *testing.T) {
	o := access.Object{What: "deployment", Name: "cart", Project: shop, Environment: qa}
	may := func(g controlplane.Grant) controlplane.Grant {
		g.Verdicts = true
		return g
	}
	for why, c := range map[string]struct {
		actor access.Actor
		want  controlplane.Kind
	}{
		"full access": {userWith(onProject(shop, controlplane.LevelFull),
			onEnvironment(qa, controlplane.LevelFull)), controlplane.Forbidden},
		"a team for another project": {userWith(may(onProject(blog, controlplane.LevelFull)),
			onProject(shop, controlplane.LevelFull)), controlplane.Forbidden},
		"a team for the project": {userWith(may(onProject(shop, controlplane.LevelRead))), ""},
		"a team for the environment": {
			userWith(may(onEnvironment(qa, controlplane.LevelRead))), ""},
		"a token that reads": {userWith(
			may(onProject(shop, controlplane.LevelFull))).AsReadOnly(), controlplane.Forbidden},
	} {
		// promise: W-06
		if got := controlplane.KindOf(access.Check(c.actor, access.GiveVerdict, o)); got != c.want {
			t.Errorf("%s: %q, want %q", why, got, c.want)
		}
	}
}
