package gate_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/gate"
)

// Who may see a deployment is handed over to it, with the level that they have there.
// For everybody else an address that exists answers like one that does not.
func TestHandOver_AdmitsOnlyWhoSeesTheDeployment(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, c := range []struct {
		who, host string
		admitted  bool
		full      bool
	}{
		{"root", firstHost, true, true}, {"root", lockedHost, true, true},
		{"full", firstHost, true, true}, {"full", lockedHost, false, false},
		{"reader", firstHost, true, false}, {"reader", lockedHost, false, false},
		{"reader", strings.ToUpper(firstHost), true, false},
		{"stranger", firstHost, false, false}, {"stranger", lockedHost, false, false},
		{"root", "api.nothing.qa.localhost", false, false},
	} {
		code, err := w.CreateSignInCode(t.Context(), w.loadActor(c.who), c.host)
		if !c.admitted {
			want := controlplane.NewNotFoundError("address", c.host).Error()
			if err == nil || err.Error() != want || !code.IsEmpty() {
				t.Errorf("%s at %s: %v, want %s", c.who, c.host, err, want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s at %s: %v", c.who, c.host, err)
			continue
		}
		pass, until, ok, err := w.Redeem(t.Context(), system, strings.ToLower(c.host), code)
		if err != nil || !ok || until != w.currentTime().Add(12*time.Hour) {
			t.Errorf("%s at %s: redeem %v until %s, %v", c.who, c.host, ok, until, err)
		}
		if all := w.checkPasses(pass); len(all) != 1 || all[0].Full != c.full {
			t.Errorf("%s at %s: %+v", c.who, c.host, all)
		}
	}
}

// A program with a token would leave a pass that outlives it: only a session is
// handed over.
func TestHandOver_RequiresASession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, actor := range map[string]access.Actor{"nobody": access.Nobody(),
		"a token": w.withoutSession("root"), "the system": system} {
		code, err := w.CreateSignInCode(t.Context(), actor, firstHost)
		kind := controlplane.KindOf(err)
		if err == nil || !code.IsEmpty() ||
			kind != controlplane.Forbidden && kind != controlplane.Unauthenticated {
			t.Errorf("%s: %q %v", name, kind, err)
		}
	}
}

func TestRedeem_CodeWorksOnceOnItsHostWithinAMinute(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	redeem := func(host string, code controlplane.Plain) bool {
		t.Helper()
		pass, _, ok, err := w.Redeem(t.Context(), system, host, code)
		if err != nil || ok == pass.IsEmpty() {
			t.Fatal(ok, err)
		}
		return ok
	}
	newCode := func() controlplane.Plain {
		t.Helper()
		code, err := w.CreateSignInCode(t.Context(), w.loadActor("reader"), firstHost)
		if err != nil {
			t.Fatal(err)
		}
		return code
	}
	code := newCode()
	if len(w.checkPasses(code)) != 0 {
		t.Error("a code is a pass before it is redeemed")
	}
	for _, host := range []string{secondHost, "web.first.qa.localhost", ""} {
		if redeem(host, code) {
			t.Errorf("a code for %s works at %q", firstHost, host)
		}
	}
	w.advanceClock(time.Minute - time.Second)
	if !redeem(firstHost, code) || redeem(firstHost, code) {
		t.Error("a code does not work exactly once within its minute")
	}
	code = newCode()
	w.advanceClock(time.Minute)
	if redeem(firstHost, code) {
		t.Error("a code works after a minute")
	}
	visit := w.signInAtHost("reader", firstHost)
	if redeem(firstHost, visit) || len(w.checkPasses(visit)) != 1 {
		t.Error("a visit is redeemed like a code")
	}
}

func TestRedeem_OneOfManyAtOnceGetsTheVisit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	code, err := w.CreateSignInCode(t.Context(), w.loadActor("full"), firstHost)
	if err != nil {
		t.Fatal(err)
	}
	var admitted sync.Map
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			pass, _, ok, err := w.Redeem(t.Context(), system, firstHost, code)
			if err != nil {
				t.Error(err)
			}
			if ok {
				admitted.Store(i, pass)
			}
		})
	}
	all.Wait()
	count := 0
	admitted.Range(func(any, any) bool { count++; return true })
	if count != 1 {
		t.Errorf("one code makes %d visits", count)
	}
}

// A visit ends at the same moment as what it rests on. Its stored row is still there.
func TestCheck_VisitEndsWithWhatItRestsOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, c := range map[string]struct{ end, undo string }{
		"the person is inactive": {"UPDATE users SET active = false WHERE name = 'reader'",
			"UPDATE users SET active = true"},
		"the team loses the project": {"UPDATE grants SET project_id = 'ID21' WHERE level = 'read'",
			"UPDATE grants SET project_id = 'ID20'"},
		"the person leaves the team": {"UPDATE memberships SET user_id = 'ID04' WHERE user_id = 'ID03'",
			"UPDATE memberships SET user_id = 'ID03' WHERE user_id = 'ID04'"},
		"the environment is restricted": {"UPDATE environments SET restricted = true",
			"UPDATE environments SET restricted = name = 'vault'"},
		"the session ends": {"UPDATE sessions SET expires_at = '2030-01-01T00:30:00Z'",
			"UPDATE sessions SET expires_at = '2030-01-02T00:00:00Z'"},
	} {
		pass := w.signInAtHost("reader", firstHost)
		w.execSQL("INSERT INTO projects (id, name, cpu, memory_mib) VALUES ('" + idPrefix +
			"21', 'other', 1, 1) ON CONFLICT DO NOTHING")
		w.execSQL(strings.ReplaceAll(c.end, "'ID", "'"+idPrefix))
		if len(w.checkPasses(pass)) != 0 {
			t.Errorf("a visit is valid although %s", name)
		}
		w.execSQL(strings.ReplaceAll(c.undo, "'ID", "'"+idPrefix))
		if len(w.checkPasses(pass)) != 1 {
			t.Errorf("a visit is not valid again: %s", name)
		}
	}
	pass := w.signInAtHost("reader", firstHost)
	w.execSQL("DELETE FROM sessions WHERE user_id = '" + idPrefix + "03'")
	if len(w.checkPasses(pass)) != 0 {
		t.Error("a visit outlives signing out")
	}
}

// Less than Full at the deployment shows at the next check, not with the next visit.
func TestCheck_FullFollowsTheGrantOfNow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	pass := w.signInAtHost("full", firstHost)
	w.execSQL("UPDATE grants SET level = 'read'")
	if all := w.checkPasses(pass); len(all) != 1 || all[0].Full {
		t.Errorf("after the grant was lowered: %+v", all)
	}
	_, guest := w.createGuestLink(first, time.Hour)
	_, robot := w.addRobotPass("qa")
	for _, h := range w.checkPasses(guest, robot) {
		if h.Full {
			t.Errorf("a %s pass is full", h.Kind)
		}
	}
}

func TestCheck_PassExpiresToTheSecond(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, guest := w.createGuestLink(first, time.Hour)
	_, robot := w.addRobotPass("qa")
	w.execSQL("UPDATE sessions SET expires_at = '2031-01-01T00:00:00Z'")
	visit := w.signInAtHost("reader", firstHost)
	begin := w.currentTime()
	for _, c := range []struct {
		after time.Duration
		valid int
	}{
		{time.Hour - time.Second, 3}, {time.Hour, 2}, {12*time.Hour - time.Second, 2},
		{12 * time.Hour, 1}, {24*time.Hour - time.Second, 1}, {24 * time.Hour, 0},
	} {
		w.advanceClock(begin.Add(c.after).Sub(w.currentTime()))
		if got := w.checkPasses(guest, robot, visit); len(got) != c.valid {
			t.Errorf("after %s %d passes are valid, want %d", c.after, len(got), c.valid)
		}
	}
	if _, _, ok, err := w.Redeem(t.Context(), system, firstHost, guest); ok || err != nil {
		t.Errorf("an expired guest link is redeemed: %v %v", ok, err)
	}
}

// What a pass opens is in the pass: one deployment, or with a robot one environment.
func TestCheck_PassNamesWhatItOpens(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, guest := w.createGuestLink(locked, time.Hour)
	_, robot := w.addRobotPass("vault")
	visit := w.signInAtHost("reader", secondHost)
	for kind, c := range map[controlplane.PassKind]struct {
		pass        controlplane.Plain
		environment controlplane.EnvironmentID
		deployment  controlplane.DeploymentID
	}{
		controlplane.PassGuest: {guest, vault, locked}, controlplane.PassRobot: {robot, vault, ""},
		controlplane.PassVisit: {visit, qa, second},
	} {
		all := w.checkPasses(c.pass)
		if len(all) != 1 || all[0].Kind != kind || all[0].Environment != c.environment ||
			all[0].Deployment != c.deployment {
			t.Errorf("a %s pass opens %+v, want %s in %s", kind, all, c.deployment, c.environment)
		}
	}
}

// Several passes in one request are checked apart: a bad one spoils none.
func TestCheck_ReturnsTheValidOnesOfMany(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	withdrawn, lost := w.createGuestLink(first, time.Hour)
	_, guest := w.createGuestLink(first, time.Hour)
	if err := w.DeleteGuestLink(t.Context(), w.loadActor("full"), first, withdrawn.ID); err != nil {
		t.Fatal(err)
	}
	visit, other := w.signInAtHost("full", firstHost), w.signInAtHost("full", secondHost)
	garbage := controlplane.NewPlain("nogg_" + strings.Repeat("A", 26))
	if all := w.checkPasses(lost, guest, garbage, visit, other); len(all) != 3 {
		t.Errorf("%d of three valid passes hold", len(all))
	}
	all, err := w.CheckHashes(t.Context(), system, [][]byte{hashOf(lost), hashOf(guest)})
	if err != nil || len(all) != 1 || all[0].Kind != controlplane.PassGuest {
		t.Errorf("by hash: %+v %v", all, err)
	}
}

// A header can hold anything, in any number: what cannot be a secret of ours is
// dropped before the database is asked. The gate has none here.
func TestCheck_DropsGarbageWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	g := gate.New(nil, nil)
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`nog[a-z]_[A-Z2-7]{0,25}`),
			rapid.StringMatching(`[a-z]{4}_?[A-Z2-7]{26,28}`).Filter(func(s string) bool {
				return !strings.HasPrefix(s, "nog")
			})).Draw(rt, "text")
		brought := controlplane.NewPlain(text)
		all, err := g.Check(t.Context(), system, []controlplane.Plain{brought, brought})
		if err != nil || len(all) != 0 {
			rt.Fatalf("%q: %v %v", text, all, err)
		}
		if _, _, ok, err := g.Redeem(t.Context(), system, firstHost, brought); ok || err != nil {
			rt.Fatalf("redeem %q: %v %v", text, ok, err)
		}
	})
}

// Only the ingress asks about passes, as the system.
func TestCheck_IsForAdminsOnly(t *testing.T) {
	t.Parallel()
	g := gate.New(nil, nil)
	member := access.User(controlplane.User{ID: idPrefix + "02", Role: controlplane.RoleUser},
		[]controlplane.Grant{{Environment: qa, Level: controlplane.LevelFull}})
	for name, actor := range map[string]access.Actor{"nobody": access.Nobody(), "a member": member} {
		_, err1 := g.Check(t.Context(), actor, nil)
		_, err2 := g.CheckHashes(t.Context(), actor, nil)
		_, _, _, err3 := g.Redeem(t.Context(), actor, firstHost, controlplane.Plain{})
		_, err4 := g.IngressConfig(t.Context(), actor)
		_, err5 := g.ListRobots(t.Context(), actor, "qa")
		err6, err7 := g.TouchPass(t.Context(), actor, ""), g.DeleteExpiredPasses(t.Context(), actor)
		for i, err := range []error{err1, err2, err3, err4, err5, err6, err7} {
			if err == nil {
				t.Errorf("%s may do number %d", name, i+1)
			}
		}
	}
}
