package gate_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/gate"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
)

var modes = []controlplane.GateMode{controlplane.GateOpen, controlplane.GateGuests,
	controlplane.GateMembers}

// Whatever is set in whichever order, the gate that is in force is at least as strict
// as the environment's, and as the deployment's own.
func TestSetDeployment_IsNeverMoreOpenThanTheEnvironment(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	setEnvironment := func(mode controlplane.GateMode) {
		t.Helper()
		err := w.SetEnvironment(t.Context(), system, "qa", controlplane.EnvironmentGate{Gate: mode})
		if err != nil {
			t.Fatal(err)
		}
	}
	for e, environment := range modes {
		for o, own := range modes {
			setEnvironment(controlplane.GateOpen)
			if _, err := w.SetDeployment(t.Context(), system, first, controlplane.GateOpen); err != nil {
				t.Fatal(err)
			}
			setEnvironment(environment)
			got, err := w.SetDeployment(t.Context(), w.loadActor("full"), first, own)
			refused := o > 0 && o < e
			if refused != (controlplane.CodeOf(err) == "gate_more_open") || !refused && err != nil {
				t.Errorf("%s in %s: %v", own, environment, err)
			}
			if !refused && got.Effective != modes[max(e, o)] {
				t.Errorf("%s in %s is %s", own, environment, got.Effective)
			}
			for l, later := range modes {
				setEnvironment(later)
				got, err := w.Deployment(t.Context(), w.loadActor("reader"), first)
				stored := slices.Index(modes, got.Own)
				if err != nil || got.Environment != later || got.Effective != modes[max(l, stored)] {
					t.Errorf("%s in %s, which became %s: %+v %v", own, environment, later, got, err)
				}
			}
		}
	}
}

func TestSetDeployment_TakesFullAtTheDeployment(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, c := range []struct {
		who  string
		id   controlplane.DeploymentID
		want controlplane.Kind
	}{
		{"stranger", first, controlplane.NotFound}, {"reader", first, controlplane.Forbidden},
		{"full", locked, controlplane.NotFound}, {"full", first, ""}, {"root", locked, ""},
	} {
		_, err := w.SetDeployment(t.Context(), w.loadActor(c.who), c.id, controlplane.GateMembers)
		if controlplane.KindOf(err) != c.want {
			t.Errorf("%s sets the gate of %s: %v", c.who, c.id, err)
		}
	}
	f, err := w.IngressConfig(t.Context(), system)
	want := map[controlplane.DeploymentID]controlplane.GateMode{first: controlplane.GateMembers,
		locked: controlplane.GateMembers}
	if err != nil || len(f.Gates) != 2 || f.Gates[first] != want[first] ||
		f.Gates[locked] != want[locked] {
		t.Errorf("the ingress is given %v %v", f.Gates, err)
	}
	if _, err := w.Deployment(t.Context(), w.loadActor("stranger"), first); err == nil {
		t.Error("a stranger reads the gate")
	}
}

// Before anything was set an environment is open, and the ingress gets each change.
func TestSetEnvironment_IsForAdminsOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	members := controlplane.EnvironmentGate{Gate: controlplane.GateMembers, RedirectHTTPS: true}
	for _, who := range []string{"full", "reader", "stranger"} {
		err := w.SetEnvironment(t.Context(), w.loadActor(who), "qa", members)
		if controlplane.KindOf(err) != controlplane.Forbidden {
			t.Errorf("%s sets the gate: %v", who, err)
		}
	}
	for _, mode := range []controlplane.GateMode{"", "closed", "OPEN"} {
		err := w.SetEnvironment(t.Context(), system, "qa", controlplane.EnvironmentGate{Gate: mode})
		if controlplane.CodeOf(err) != "gate_unknown" {
			t.Errorf("gate %q: %v", mode, err)
		}
	}
	got, err := w.Environment(t.Context(), w.loadActor("reader"), "qa")
	if err != nil || got != (controlplane.EnvironmentGate{Gate: controlplane.GateOpen}) {
		t.Errorf("at first %+v %v", got, err)
	}
	if err := w.SetEnvironment(t.Context(), w.loadActor("root"), "qa", members); err != nil {
		t.Fatal(err)
	}
	f, err := w.IngressConfig(t.Context(), system)
	if err != nil || len(f.Zones) != 2 || f.Zones[0].EnvironmentGate != members ||
		f.Zones[1].Gate != controlplane.GateOpen {
		t.Errorf("the ingress is given %+v %v", f.Zones, err)
	}
}

func TestEnvironment_HidesARestrictedOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for who, sees := range map[string]bool{"root": true, "full": false, "stranger": false} {
		_, err := w.Environment(t.Context(), w.loadActor(who), "vault")
		if sees != (err == nil) || !sees && controlplane.KindOf(err) != controlplane.NotFound {
			t.Errorf("%s: %v", who, err)
		}
	}
	if _, err := w.Environment(t.Context(), access.Nobody(), "qa"); err == nil {
		t.Error("nobody reads a gate")
	}
}

// A mistyped host is answered with hosts that the person may open, and no others.
func TestNear_OffersOnlyWhatThePersonSees(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.execSQL("UPDATE deployment_hosts SET host = 'api.forst.qa.localhost' WHERE deployment_id = '" +
		string(locked) + "'")
	for who, want := range map[string][]string{
		"root":     {firstHost, "api.forst.qa.localhost", "web.first.qa.localhost", secondHost},
		"full":     {firstHost, "web.first.qa.localhost", secondHost},
		"stranger": {},
	} {
		got, err := w.SimilarHosts(t.Context(), w.loadActor(who), "API.firsst.qa.localhost")
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s is offered %q %v, want %q", who, got, err, want)
		}
	}
	if _, err := w.SimilarHosts(t.Context(), access.Nobody(), firstHost); err == nil {
		t.Error("nobody is offered hosts")
	}
}

// The journal says of each change what it was about, and what was chosen.
func TestGate_IsAudited(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	guests := controlplane.EnvironmentGate{Gate: controlplane.GateGuests}
	if err := w.SetEnvironment(t.Context(), system, "qa", guests); err != nil {
		t.Fatal(err)
	}
	if _, err := w.SetDeployment(t.Context(), system, first, controlplane.GateMembers); err != nil {
		t.Fatal(err)
	}
	guest, _ := w.createGuestLink(first, time.Hour)
	if err := w.DeleteGuestLink(t.Context(), system, first, guest.ID); err != nil {
		t.Fatal(err)
	}
	robot, _ := w.addRobotPass("qa")
	if err := w.RemoveRobot(t.Context(), system, "qa", robot.ID); err != nil {
		t.Fatal(err)
	}
	got := pgtest.QueryValue[string](t, w.url, `SELECT string_agg(concat_ws(' | ', action, object,
		right(project_id::text, 2), right(environment_id::text, 2), detail), E'\n' ORDER BY id)
		FROM audit`)
	const deployment = "deployment first | 20 | 10 | "
	want := strings.Join([]string{"set gate | environment qa | guests",
		"set gate | " + deployment + "members", "make guest link | " + deployment + "ACME",
		"withdraw guest link | " + deployment, "make robot token | environment qa | ",
		"withdraw robot token | environment qa | "}, "\n")
	if got != want {
		t.Errorf("the journal says\n%s\nwant\n%s", got, want)
	}
}

// What the ingress asks is for the system alone, whose clock is the real one unless a test says.
func TestGate_AnswersTheSystemOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	guest, token := w.createGuestLink(first, time.Hour)
	stranger := w.loadActor("stranger")
	for name, ask := range map[string]func(g *gate.Gate, a access.Actor) error{
		"config": func(g *gate.Gate, a access.Actor) error {
			_, err := g.IngressConfig(t.Context(), a)
			return err
		},
		"redeem": func(g *gate.Gate, a access.Actor) error {
			_, _, _, err := g.Redeem(t.Context(), a, firstHost, token)
			return err
		},
		"check": func(g *gate.Gate, a access.Actor) error {
			_, err := g.Check(t.Context(), a, []controlplane.Plain{token})
			return err
		},
		"hashes": func(g *gate.Gate, a access.Actor) error {
			_, err := g.CheckHashes(t.Context(), a, [][]byte{hashOf(token)})
			return err
		},
		"touch": func(g *gate.Gate, a access.Actor) error {
			return g.TouchPass(t.Context(), a,
				guest.ID)
		},
		"forget": func(g *gate.Gate, a access.Actor) error {
			return g.DeleteExpiredPasses(t.Context(),
				a)
		},
		"robots": func(g *gate.Gate, a access.Actor) error {
			_, err := g.ListRobots(t.Context(), a, "qa")
			return err
		},
	} {
		if err := ask(w.Gate, stranger); controlplane.KindOf(err) != controlplane.Forbidden {
			t.Errorf("a stranger's %s: %v", name, err)
		}
		if err := ask(gate.New(w.store, nil), system); err != nil {
			t.Errorf("the system's %s: %v", name, err)
		}
	}
}
