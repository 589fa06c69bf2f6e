package agent_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/dummy"
	"github.com/nullops/nullops/agent/offer"
	"github.com/nullops/nullops/agent/wire"
)

// The agent has its site decide about each offer, several at once, and never says nothing.
func TestAgent_AnswersOffers(t *testing.T) {
	const decide = `read document; case "$document" in
		*slow*) sleep 1000;;
		*mine*) echo '{"claim": true}';;
		*) echo '{"claim": false, "reason": "not ours"}';;
	esac`
	p := newPlane(t)
	n := p.bootWith(agent.Config{Data: t.TempDir(), Offers: offer.Config{
		Command: []string{"/bin/sh", "-c", decide}, Timeout: 10 * time.Second}},
		dummy.New(dummy.Hooks{}))
	s := n.connect()
	p.until("the welcome", func() bool { return p.welcome.Build != "" })
	if !p.welcome.Offers {
		t.Error("the agent does not say that it answers offers")
	}
	for id, deployment := range map[string]string{"slow": "slow", "claimed": "mine",
		"declined": "other"} {
		what, err := json.Marshal(map[string]string{"name": deployment})
		if err != nil {
			t.Fatal(err)
		}
		// The slow one has two seconds, less the way of its answer.
		err = s.Send(t.Context(), wire.Offer{ID: id, Seconds: 2, Deployment: what})
		if err != nil {
			t.Fatal(err)
		}
	}
	p.until("three answers", func() bool { return len(p.answers) == 3 })
	for id, want := range map[string]string{"claimed": "", "declined": "not ours",
		"slow": "the site's program did not answer within 1 second"} {
		got := p.answers[id]
		if got.Claim != (want == "") || !strings.HasPrefix(got.Reason, want) {
			t.Errorf("%s: answered %+v", id, got)
		}
	}
}
