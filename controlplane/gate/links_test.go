package gate_test

import (
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/gate"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
)

const day = 24 * time.Hour

// A link gives others what its maker has: it takes Full to make or withdraw one.
func TestInvite_TakesFullAtTheDeployment(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	guest, _ := w.createGuestLink(first, time.Hour)
	hidden, _ := w.createGuestLink(locked, time.Hour)
	for _, c := range []struct {
		who  string
		id   controlplane.DeploymentID
		pass controlplane.PassID
		want controlplane.Kind
	}{
		{"stranger", first, guest.ID, controlplane.NotFound},
		{"reader", first, guest.ID, controlplane.Forbidden},
		{"full", locked, hidden.ID, controlplane.NotFound},
		{"full", first, guest.ID, ""},
		{"root", locked, hidden.ID, ""},
	} {
		actor := w.loadActor(c.who)
		_, host, token, err := w.CreateGuestLink(
			t.Context(),
			actor,
			c.id,
			gate.GuestLinkRequest{Label: "x", Life: day},
		)
		if controlplane.KindOf(err) != c.want || (err == nil) == token.IsEmpty() ||
			err == nil && !strings.HasPrefix(host, "api.") {
			t.Errorf("%s invites to %s: %q %v", c.who, c.id, host, err)
		}
		err = w.DeleteGuestLink(t.Context(), actor, c.id, c.pass)
		if controlplane.KindOf(err) != c.want {
			t.Errorf("%s withdraws: %v", c.who, err)
		}
	}
	if all, err := w.ListGuestLinks(t.Context(), w.loadActor("reader"), first); err != nil ||
		len(all) != 1 ||
		all[0].CreatedBy != "full" {
		t.Errorf("a reader lists %+v %v", all, err)
	}
	if _, err := w.ListGuestLinks(t.Context(), w.loadActor("stranger"), first); err == nil {
		t.Error("a stranger lists the guests")
	}
}

func TestDisinvite_EndsOnlyTheLinkOfThatDeployment(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	guest, token := w.createGuestLink(first, time.Hour)
	_, other := w.createGuestLink(first, time.Hour)
	robot, robotToken := w.addRobotPass("qa")
	for name, err := range map[string]error{
		"another deployment's": w.DeleteGuestLink(t.Context(), system, second, guest.ID),
		"a robot's":            w.DeleteGuestLink(t.Context(), system, first, robot.ID),
		"none":                 w.DeleteGuestLink(t.Context(), system, first, "x"),
		"a guest's":            w.RemoveRobot(t.Context(), system, "qa", guest.ID),
		"another environment's robot": w.RemoveRobot(t.Context(), system, "vault",
			robot.ID),
	} {
		if controlplane.KindOf(err) != controlplane.NotFound {
			t.Errorf("withdraw %s: %v", name, err)
		}
	}
	if n := len(w.checkPasses(token, other, robotToken)); n != 3 {
		t.Fatalf("%d of 3 passes hold", n)
	}
	if err := w.DeleteGuestLink(t.Context(), system, first, guest.ID); err != nil {
		t.Fatal(err)
	}
	if len(w.checkPasses(token)) != 0 || len(w.checkPasses(other)) != 1 {
		t.Error("the wrong link was withdrawn")
	}
	if _, _, ok, err := w.Redeem(t.Context(), system, firstHost, token); ok || err != nil {
		t.Errorf("a withdrawn link is redeemed: %v %v", ok, err)
	}
	if err := w.RemoveRobot(t.Context(), system, "qa", robot.ID); err != nil {
		t.Fatal(err)
	}
	if len(w.checkPasses(robotToken)) != 0 {
		t.Error("a withdrawn robot holds")
	}
}

func TestAddRobot_IsForAdminsOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	robot, token := w.addRobotPass("qa")
	for _, who := range []string{"full", "reader", "stranger"} {
		_, made, err := w.AddRobot(
			t.Context(),
			w.loadActor(who),
			"qa",
			gate.GuestLinkRequest{Label: "x", Life: day},
		)
		if controlplane.KindOf(err) != controlplane.Forbidden || !made.IsEmpty() {
			t.Errorf("%s adds a robot: %v", who, err)
		}
		err = w.RemoveRobot(t.Context(), w.loadActor(who), "qa", robot.ID)
		if controlplane.KindOf(err) != controlplane.Forbidden {
			t.Errorf("%s removes a robot: %v", who, err)
		}
	}
	all, err := w.ListRobots(t.Context(), w.loadActor("root"), "qa")
	if err != nil || len(all) != 1 || all[0].ID != robot.ID || len(w.checkPasses(token)) != 1 {
		t.Errorf("%+v %v", all, err)
	}
	if all, _ := w.ListRobots(t.Context(), system, "vault"); len(all) != 0 {
		t.Errorf("another environment has %+v", all)
	}
}

// Each pass for others ends, and says for whom it is.
func TestInvite_ChecksLifeAndLabel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	long := strings.Repeat("x", 200)
	for _, c := range []struct {
		ask                gate.GuestLinkRequest
		code, robot, field string
	}{
		{gate.GuestLinkRequest{Label: "", Life: day}, "label", "label", "label"},
		{gate.GuestLinkRequest{Label: long + "x", Life: day}, "label", "label", "label"},
		{gate.GuestLinkRequest{Label: "x", Life: time.Hour - 1}, "range", "range", "hours"},
		{gate.GuestLinkRequest{Label: "x", Life: -time.Hour}, "range", "range", "hours"},
		{gate.GuestLinkRequest{Label: "x", Life: 90*day + 1}, "range", "", "hours"},
		{gate.GuestLinkRequest{Label: "x", Life: 365*day + 1}, "range", "range", "hours"},
		{gate.GuestLinkRequest{Label: "x", Life: day, Service: "db"}, "no_address", "", "service"},
		{gate.GuestLinkRequest{Label: long, Life: 90 * day, Service: "web"}, "", "", ""},
	} {
		_, host, _, err := w.CreateGuestLink(t.Context(), system, first, c.ask)
		if controlplane.CodeOf(err) != c.code {
			t.Errorf("invite %+v: %v, want %q", c.ask, err, c.code)
		}
		if err == nil && host != "web.first.qa.localhost" {
			t.Errorf("a guest of web arrives at %s", host)
		}
		if _, _, err = w.AddRobot(t.Context(), system, "qa", c.ask); controlplane.CodeOf(err) != c.robot {
			t.Errorf("robot %+v: %v, want %q", c.ask, err, c.robot)
		}
	}
}

// Someone who reads the database cannot enter: it holds hashes, and a hash is no pass.
func TestPasses_OnlyHashesAreStored(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, guest := w.createGuestLink(first, time.Hour)
	_, robot := w.addRobotPass("qa")
	code, err := w.CreateSignInCode(t.Context(), w.loadActor("full"), firstHost)
	if err != nil {
		t.Fatal(err)
	}
	stored := pgtest.QueryValue[string](
		t,
		w.url,
		`SELECT string_agg(p::text, E'\n') FROM gate_passes p`,
	) +
		pgtest.QueryValue[string](
			t,
			w.url,
			`SELECT string_agg(a::text, E'\n') FROM audit a`,
		)
	pass := w.signInAtHost("full", firstHost)
	for _, secret := range []controlplane.Plain{guest, robot, pass, code} {
		if strings.Contains(stored, secret.Reveal()) || strings.Contains(stored, secret.Reveal()[5:]) {
			t.Errorf("%s… is stored", secret.Reveal()[:5])
		}
	}
	if len(w.checkPasses(controlplane.NewPlain(string(hashOf(guest))))) != 0 {
		t.Error("a hash is a pass")
	}
}

func TestForget_KeepsPassesForADayAfterTheirEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.createGuestLink(first, time.Hour)
	_, robot := w.addRobotPass("qa")
	for _, c := range []struct {
		advance time.Duration
		left    int64
	}{{time.Hour, 2}, {23 * time.Hour, 2}, {2 * time.Hour, 1}, {48 * time.Hour, 0}} {
		w.advanceClock(c.advance)
		if err := w.DeleteExpiredPasses(t.Context(), system); err != nil {
			t.Fatal(err)
		}
		if n := pgtest.QueryValue[int64](t, w.url, "SELECT count(*) FROM gate_passes"); n != c.left {
			t.Errorf("%s later %d passes are stored, want %d", c.advance, n, c.left)
		}
	}
	if len(w.checkPasses(robot)) != 0 {
		t.Error("an expired robot holds")
	}
}

func TestUsed_RecordsTheLastUse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	guest, _ := w.createGuestLink(first, time.Hour)
	w.advanceClock(time.Minute)
	if err := w.TouchPass(t.Context(), system, guest.ID); err != nil {
		t.Fatal(err)
	}
	all, err := w.ListGuestLinks(t.Context(), system, first)
	if err != nil || len(all) != 1 || all[0].LastUsed == nil ||
		!all[0].LastUsed.Equal(w.currentTime()) {
		t.Errorf("%+v %v", all, err)
	}
}
