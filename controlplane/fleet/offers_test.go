package fleet_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/pipeline"
)

// ask creates a deployment that the reactive node is asked about.
func (r *rig) ask(name string) <-chan error {
	r.t.Helper()
	done := make(chan error, 1)
	go func() {
		_, err := r.lifecycle.Create(r.t.Context(), system, lifecycle.Request{Name: name,
			Project: "shop", Environment: "qa", Priority: controlplane.DefaultPriority,
			Versions: map[pipeline.StepKey]string{"api": "1.0"}})
		done <- err
	}()
	return done
}

// The agent hears of the deployment without a secret; its claim is placed, its decline is told.
// After a broken link it is asked again.
func TestOffers_AreAnsweredOverTheSession(t *testing.T) {
	r := newRig(t)
	pgtest.Exec(t, r.url, `UPDATE nodes SET settings = '{"reactive": true}'`)
	r.welcome.Offers = true
	r.start("a")
	s := r.waitForSession()
	r.waitUntilOnline()
	done := r.ask("one")
	offer := nextCommand[wire.Offer](s)
	var told controlplane.OfferedDeployment
	if err := json.Unmarshal(offer.Deployment, &told); err != nil {
		t.Fatal(err)
	}
	if told.Name != "one" || told.Project != "shop" || told.Environment != "qa" ||
		told.CPU != 0.5 || told.MemoryMiB != 256 || offer.Seconds < 1 || offer.Seconds > 20 ||
		strings.Join(told.Images, " ") != "localhost:5000/shop/api:1.0" || told.User == "" {
		t.Errorf("the agent was told %s within %d s", offer.Deployment, offer.Seconds)
	}
	s.cut()
	s = r.waitForSession()
	if again := nextCommand[wire.Offer](s); again.ID != offer.ID {
		t.Errorf("after the link was lost it was asked %s instead of %s", again.ID, offer.ID)
	}
	s.sendReport(wire.OfferAnswer{ID: "no id", Claim: true})
	s.sendReport(wire.OfferAnswer{ID: offer.ID, Claim: true})
	if err := <-done; err != nil {
		t.Fatalf("claimed, it ended with %v", err)
	}
	done = r.ask("two")
	s.sendReport(wire.OfferAnswer{ID: nextCommand[wire.Offer](s).ID, Reason: "closed\x1b[2J"})
	if err := <-done; controlplane.CodeOf(err) != "no_room" || !strings.Contains(
		placementText(err), "It declined: closed\uFFFD[2J.") {
		t.Errorf("declined, it ended with %v: %s", err, placementText(err))
	}
}

func TestOffers_AnOldAgentDeclines(t *testing.T) {
	r := newRig(t)
	pgtest.Exec(t, r.url, `UPDATE nodes SET settings = '{"reactive": true}'`)
	r.start("a")
	r.waitForSession()
	r.waitUntilOnline()
	if err := <-r.ask("one"); !strings.Contains(placementText(err), "does not know offers") {
		t.Errorf("it ended with %v: %s", err, placementText(err))
	}
}

func placementText(err error) (text string) {
	if refused, ok := err.(*controlplane.Error); ok { //nolint:errorlint // It is returned as it is.
		for _, p := range refused.Placement {
			text += p.Node + ": " + p.Reason
		}
	}
	return text
}
