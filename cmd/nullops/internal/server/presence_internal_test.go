package server

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/catalog"
	"github.com/nullops/nullops/controlplane/gate"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
)

// addPerson makes a person with a session who may do everything.
func (w *updateWorld) addPerson(name string) (a access.Actor) {
	w.t.Helper()
	id := string(controlplane.NewID[controlplane.UserID]())
	session := string(controlplane.NewID[controlplane.SessionID]())
	pgtest.Exec(w.t, w.url, `INSERT INTO users (id, name, display_name, role, password_hash)
		VALUES ($1, $2, $2, 'admin', '$argon2id$v=19$m=65536,t=1,p=2$c2FsdA$aGFzaA')`, id, name)
	pgtest.Exec(w.t, w.url, `INSERT INTO sessions (id, user_id, hash, created_at, last_used_at,
		expires_at) VALUES ($1, $2, decode(md5($3) || md5($3), 'hex'), now(), now(),
		now() + interval '1 day')`, session, id, name)
	w.must(nil, w.store.Read(w.t.Context(), func(tx *postgres.Tx) error {
		u, err := tx.Users().ByName(w.t.Context(), name)
		a = access.User(u.User, nil).InSession(controlplane.SessionID(session))
		return err
	}))
	return a
}

// enterAs lets the visitor in at the gate, as the page of the UI does.
func (v *visitor) enterAs(w *updateWorld, who access.Actor) {
	w.t.Helper()
	v.enterWith(w, updateHost, w.signInCode(who, updateHost), "/")
}

func (w *updateWorld) signInCode(who access.Actor, host string) string {
	w.t.Helper()
	code, err := gate.New(w.store, nil).CreateSignInCode(w.t.Context(), who, host)
	w.must(nil, err)
	return code.Reveal()
}

func (v *visitor) enterWith(w *updateWorld, host, pass, to string) {
	w.t.Helper()
	if status := v.sendPass(w, host, pass, to); status != http.StatusOK {
		w.t.Fatalf("not let in at %s: %d", host, status)
	}
}

// sendPass hands a pass to the gate of a host, and returns the status of where that leads.
func (v *visitor) sendPass(w *updateWorld, host, pass, to string) int {
	w.t.Helper()
	res, err := v.PostForm("http://"+host+"/.nullops/pass",
		url.Values{"pass": {pass}, "to": {to}})
	w.must(nil, err)
	_ = res.Body.Close()
	return res.StatusCode
}

func (w *updateWorld) visitorsOf(id controlplane.DeploymentID) []controlplane.Visitor {
	w.t.Helper()
	d, err := w.lifecycle.View(w.t.Context(), ingressTask, id)
	w.must(nil, err)
	return d.Visitors
}

// Somebody who passed the gate is known to be there, by name and not by what they look at. Neither
// a push nor the end of the pull request interrupts them before they left or were given their time.
func TestPresence_UpdatesWaitForThoseWhoAreThere(t *testing.T) {
	w := newUpdateWorld(t)
	g := gate.New(w.store, nil)
	w.must(nil, g.SetEnvironment(t.Context(), ingressTask, "qa",
		controlplane.EnvironmentGate{Gate: controlplane.GateGuests}))
	w.must(w.conn.Exec(t.Context(), "UPDATE review_rules SET updates = 'replace'"))
	lena, omar := w.addPerson("lena"), w.addPerson("omar")
	w.push("opened", 1)
	x := w.until("a deployment", func(x controlplane.Review) bool { return x.DeploymentID != "" })
	w.report(x.DeploymentID, controlplane.Applying, controlplane.Ready)
	w.until("ready", func(x controlplane.Review) bool { return x.State == controlplane.ReviewReady })
	w.await("the gate does not lead to the build", func() bool {
		r, ok := w.proxy.Table().Match(updateHost)
		return ok && r.State == "ready" && r.Gate == "guests"
	})

	stranger, tester, guest := w.newVisitor(), w.newVisitor(), w.newVisitor()
	if err := stranger.click(); err == nil {
		t.Fatal("a stranger is let in")
	}
	tester.enterAs(w, lena)
	w.must(nil, tester.click())
	_, _, link, err := g.CreateGuestLink(t.Context(), lena, x.DeploymentID,
		gate.GuestLinkRequest{Label: "of the customer", Life: time.Hour})
	w.must(nil, err)
	guest.enterWith(w, updateHost, link.Reveal(), "/")
	w.await("nobody is seen", func() bool { return len(w.visitorsOf(x.DeploymentID)) == 2 })
	names := map[string]controlplane.VisitorKind{}
	for _, v := range w.visitorsOf(x.DeploymentID) {
		names[v.Name] = v.Kind
	}
	// promise: W-05
	if names["lena"] != controlplane.VisitorPerson ||
		names["of the customer"] != controlplane.VisitorGuest {
		t.Errorf("who is there: %v", names)
	}
	// promise: W-05
	if err := w.lifecycle.RequireNobodyThere(t.Context(), omar, x.DeploymentID); err == nil ||
		!strings.Contains(err.Error(), "lena (") {
		t.Errorf("omar is not told of lena: %v", err)
	}
	w.saysWhoIsHere(tester, guest)
	w.storesNoPath()

	w.push("synchronize", 2)
	waits := w.until("the update waits", func(x controlplane.Review) bool {
		return strings.Contains(x.Detail, "in use by 2 visitors")
	})
	// promise: W-05
	if d, err := w.lifecycle.Get(t.Context(), ingressTask, x.DeploymentID); err != nil ||
		d.Goal != controlplane.GoalPresent || waits.WaitsSince.IsZero() ||
		strings.Contains(waits.Detail, "lena") {
		t.Errorf("the push interrupts lena, or names her outside: %+v %v", waits, err)
	}
	// They leave: nothing waits any more.
	w.must(w.conn.Exec(t.Context(),
		"UPDATE deployment_visitors SET seen_at = now() - interval '6 minutes'"))
	w.until("the update goes on", func(x controlplane.Review) bool {
		d, err := w.lifecycle.Get(t.Context(), ingressTask, x.DeploymentID)
		return err == nil && d.Goal == controlplane.GoalGone
	})
	if w.must(nil, w.lifecycle.ForgetVisitors(t.Context(), ingressTask)); w.countVisitors() != 0 {
		t.Error("those who left are remembered")
	}
	w.report(x.DeploymentID, controlplane.Removed)
	first := x.DeploymentID
	x = w.until("the update", func(x controlplane.Review) bool {
		return x.DeploymentID != first && x.DeploymentID != ""
	})
	w.report(x.DeploymentID, controlplane.Applying, controlplane.Ready)
	w.until("ready again", func(x controlplane.Review) bool {
		return x.State == controlplane.ReviewReady
	})
	w.endsWhenTheTimeIsUp(x, lena)
}

// saysWhoIsHere shows people at /.nullops/ who is there, and guests how many.
func (w *updateWorld) saysWhoIsHere(person, guest *visitor) {
	w.t.Helper()
	read := func(v *visitor, path string) string {
		res, err := v.Get("http://" + updateHost + "/.nullops/" + path)
		w.must(nil, err)
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		w.must(nil, err)
		return string(text)
	}
	w.await("the page does not say who is here", func() bool {
		// promise: W-05
		return strings.Contains(read(person, ""), "lena") &&
			strings.Contains(read(person, "build"), `"name": "lena"`)
	})
	if page := read(guest, ""); strings.Contains(page, "lena") ||
		!strings.Contains(page, "2 visitors") {
		w.t.Errorf("a guest reads %s", page)
	}
}

// storesNoPath looks for what was visited in all that is stored of it.
func (w *updateWorld) storesNoPath() {
	w.t.Helper()
	var text string
	w.must(nil, w.conn.QueryRow(w.t.Context(),
		"SELECT string_agg(v::text, '; ') FROM deployment_visitors v").Scan(&text))
	if strings.Contains(text, "/") || strings.Contains(text, updateHost) {
		w.t.Errorf("what was visited is stored: %s", text)
	}
}

func (w *updateWorld) countVisitors() (n int) {
	w.t.Helper()
	w.must(nil, w.conn.QueryRow(w.t.Context(), "SELECT count(*) FROM deployment_visitors").Scan(&n))
	return n
}

// endsWhenTheTimeIsUp closes the pull request under somebody who stays, whom nobody is asked about
// where the gate is open: it waits, but not for ever. Where presence is ignored, nothing waits.
func (w *updateWorld) endsWhenTheTimeIsUp(x controlplane.Review, who access.Actor) {
	w.t.Helper()
	ctx := w.t.Context()
	w.must(nil, gate.New(w.store, nil).SetEnvironment(ctx, ingressTask, "qa",
		controlplane.EnvironmentGate{Gate: controlplane.GateOpen}))
	v := w.newVisitor()
	w.await("the build does not answer", func() bool { return v.click() == nil })
	w.await("nobody is counted", func() bool { return len(w.visitorsOf(x.DeploymentID)) == 1 })
	// promise: W-05
	if one := w.visitorsOf(x.DeploymentID)[0]; one.Kind != controlplane.VisitorCount ||
		one.Name != "" || one.Visitors != 1 {
		w.t.Errorf("behind an open gate: %+v", one)
	}
	// Nobody knows who they are, so they are shown and nothing else.
	if err := w.lifecycle.RequireNobodyThere(ctx, who, x.DeploymentID); err != nil {
		w.t.Errorf("a visitor whom nobody knows is in the way: %v", err)
	}
	w.must(nil, gate.New(w.store, nil).SetEnvironment(ctx, ingressTask, "qa",
		controlplane.EnvironmentGate{Gate: controlplane.GateGuests}))
	w.await("the gate is not closed", func() bool { return w.newVisitor().click() != nil })
	v.enterAs(w, who)
	w.must(nil, v.click())
	w.await("nobody is seen", func() bool { return len(w.visitorsOf(x.DeploymentID)) == 2 })
	w.push("closed", 3)
	w.until("the end waits", func(x controlplane.Review) bool {
		return strings.Contains(x.Detail, "in use by 1 visitor,")
	})
	w.until("the end", func(x controlplane.Review) bool {
		// The worker may be about to store what it has read before.
		w.must(w.conn.Exec(ctx, "UPDATE reviews SET waits_since = now() - interval '16 minutes', "+
			"due_at = least(due_at, now() + interval '1 second')"))
		d, err := w.lifecycle.Get(ctx, ingressTask, x.DeploymentID)
		return err == nil && d.Goal == controlplane.GoalGone
	})
	w.must(w.lifecycle.Get(ctx, who, x.DeploymentID))
	if err := w.lifecycle.RequireNobodyThere(ctx, who, x.DeploymentID); err != nil {
		w.t.Errorf("what is going cannot be interrupted: %v", err)
	}
	w.must(w.catalog.PutEnvironment(ctx, ingressTask, catalog.EnvironmentPut{Name: "qa",
		Domain: "localhost", IgnorePresence: true}))
	w.must(w.conn.Exec(ctx, "DELETE FROM deployment_visitors"))
	w.must(nil, w.lifecycle.RecordPresence(ctx, ingressTask, controlplane.PresenceReport{
		Deployment: x.DeploymentID, Visitors: 3, Ingress: "one"}))
	if n := w.countVisitors(); n != 0 {
		w.t.Errorf("%d visitors are stored where presence is ignored", n)
	}
}
