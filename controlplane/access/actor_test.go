package access_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
)

// The audit entry names who acted, with what and from where; through another's eyes it is the
// admin who acted.
func TestNewAuditEntry_NamesWhoActed(t *testing.T) {
	key := controlplane.NewPlain("key")
	a := userWith().InSession("s1").WithOrigin("10.0.0.9", "req-1").WithDevice("Firefox").
		WithDeviceKey(key)
	if a.Session() != "s1" || a.RemoteAddress() != "10.0.0.9" || a.Request() != "req-1" ||
		a.Device() != "Firefox" || a.DeviceKey() != key || a.Credential() != "session s1" {
		t.Errorf("the actor forgot something: %s, %s, %s, %s", a.Session(), a.RemoteAddress(),
			a.Request(), a.Credential())
	}
	got := *a.NewAuditEntry("create", "deployment cart")
	want := controlplane.AuditEntry{Actor: "uma", ActorID: "u", Action: "create",
		Object: "deployment cart", From: "10.0.0.9", RequestID: "req-1", Credential: "session s1"}
	if got.Actor != want.Actor || got.ActorID != want.ActorID || got.Action != want.Action ||
		got.Object != want.Object || got.From != want.From || got.RequestID != want.RequestID ||
		got.Credential != want.Credential {
		t.Errorf("the entry is %+v, want %+v", got, want)
	}
	viewed := a.ViewedBy(adminActor().WithToken("nop_1"))
	if e := viewed.NewAuditEntry("list", ""); e.Actor != "ada" || e.ActorID != "a" ||
		e.Credential != "token nop_1" || viewed.Viewer() != "ada" || !viewed.IsReadOnly() {
		t.Errorf("through another's eyes the entry is %+v", e)
	}
	if c := userWith().InSession("").Credential(); c != "" {
		t.Errorf("without a session there is the credential %q", c)
	}
}

func TestActor_SaysWhoItIs(t *testing.T) {
	for _, c := range []struct {
		actor                   access.Actor
		name                    string
		id                      controlplane.UserID
		signedIn, admin, system bool
	}{
		{access.Nobody(), "nobody", "", false, false, false},
		{userWith(), "uma", "u", true, false, false},
		{adminActor(), "ada", "a", true, true, false},
		{access.System("fleet"), "system:fleet", "", true, true, true},
	} {
		if c.actor.Name() != c.name || c.actor.UserID() != c.id || c.actor.Person().ID != c.id ||
			c.actor.SignedIn() != c.signedIn || c.actor.IsAdmin() != c.admin ||
			c.actor.IsSystem() != c.system || c.actor.IsReadOnly() || c.actor.Viewer() != "" {
			t.Errorf("%s is not what it is", c.name)
		}
	}
}

// Whom an approval names may answer it if they can see the deployment; it names nobody: full
// access counts.
func TestCheckAnswer_FollowsWhoIsNamed(t *testing.T) {
	o := access.Object{What: "deployment", Name: "cart", Project: shop, Environment: qa}
	read, full := onProject(shop, controlplane.LevelRead), onProject(shop, controlplane.LevelFull)
	leads := access.User(controlplane.User{ID: "l", Name: "leo", Role: controlplane.RoleUser,
		Teams: []string{"leads"}}, []controlplane.Grant{read})
	fb, nf := controlplane.Forbidden, controlplane.NotFound
	for name, c := range map[string]struct {
		actor        access.Actor
		teams, users []string
		want         controlplane.Kind
	}{
		"admin, not named":    {adminActor(), []string{"leads"}, nil, ""},
		"named team":          {leads, []string{"qa", "leads"}, nil, ""},
		"other team":          {leads, []string{"qa"}, nil, fb},
		"named user":          {userWith(read), nil, []string{"uma"}, ""},
		"other user":          {userWith(full), nil, []string{"leo"}, fb},
		"nobody named, reads": {userWith(read), nil, nil, fb},
		"nobody named, full":  {userWith(full), nil, nil, ""},
		"named, sees nothing": {userWith(), nil, []string{"uma"}, nf},
	} {
		err := access.CheckAnswer(c.actor, o, c.teams, c.users)
		if got := controlplane.KindOf(err); got != c.want {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if err := access.Check(userWith(read), access.AnswerDeployment, o); err != nil {
		t.Errorf("who reads a deployment may try to answer: %v", err)
	}
	if access.Check(userWith(full).AsReadOnly(), access.AnswerDeployment, o) == nil {
		t.Error("a token that only reads may answer")
	}
}

func TestDescribeAnswerers_ListsThem(t *testing.T) {
	for want, c := range map[string][2][]string{
		"somebody with full access to the project or the environment": {},
		"uma":                           {nil, {"uma"}},
		"a member of team leads":        {{"leads"}, nil},
		"a member of team leads or uma": {{"leads"}, {"uma"}},
		"a member of team leads, a member of team qa or uma": {{"leads", "qa"}, {"uma"}},
	} {
		if got := access.DescribeAnswerers(c[0], c[1]); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A refusal says what to do: sign in, take another token, stop viewing, ask an admin.
func TestCheck_SaysWhy(t *testing.T) {
	o := access.Object{Name: "cart", Project: shop}
	reader := userWith(onProject(shop, controlplane.LevelRead))
	for _, c := range []struct {
		actor                   access.Actor
		action                  access.Action
		code, message, remedies string
	}{
		{access.Nobody(), access.Self, "unauthenticated", "nobody is signed in", "Sign in"},
		{reader.AsReadOnly(), access.WriteDeployment, "token_read_only", "only reads", "scope full"},
		{reader.ViewedBy(adminActor()), access.WriteDeployment, "view_only", "eyes of uma",
			"Stop viewing as uma"},
		{reader, access.Admin, "forbidden", "only an admin", "Ask an admin"},
		{reader, access.WriteDeployment, "forbidden", "read access here", "full access"},
		{reader, access.Action("typo"), "forbidden", "nobody may do typo", "report"},
		{userWith(), access.ReadDeployment, "not_found", "this", ""},
	} {
		var refused *controlplane.Error
		if err := access.Check(c.actor, c.action, o); !errors.As(err, &refused) {
			t.Errorf("%s: %v", c.action, err)
			continue
		}
		if refused.Code != c.code || !strings.Contains(refused.Message, c.message) ||
			!strings.Contains(refused.Remedy, c.remedies) {
			t.Errorf("%s: %+v", c.action, refused)
		}
	}
}
