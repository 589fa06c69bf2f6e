package review

import (
	"slices"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/pipeline"
)

// routes returns where the hosts that contain a text lead.
func (s *story) routes(text string) map[string]controlplane.DeploymentID {
	s.t.Helper()
	found := map[string]controlplane.DeploymentID{}
	s.failOnError(s.Store.Read(s.t.Context(), func(tx *postgres.Tx) error {
		all, err := tx.Hosts().ListRoutes(s.t.Context())
		for _, r := range all {
			if strings.Contains(r.Host, text) {
				found[r.Host] = r.Deployment
			}
		}
		return err
	}))
	return found
}

// Aliases lead to what of the rule is ready, follow its updates, and end with it.
func TestAliases_FollowTheRule(t *testing.T) {
	s := newAsideStory(t)
	s.rule = s.putRule("hub", controlplane.ReviewGitHub, func(p *RulePut) {
		p.Rule.APIURL, p.Rule.Aliases = s.host.URL, true
	})
	first, _ := s.find("hub-12")
	s.look()
	for _, host := range []string{"latest--hub.qa.localhost", "api.latest--hub.qa.localhost",
		"branch--feature-cart.qa.localhost", "api--branch--feature-cart--qa.localhost"} {
		if got := s.routes(host)[host]; got != first.ID {
			t.Errorf("%s leads to %q", host, got)
		}
	}
	if now, _ := s.find("hub-12"); now.Services[0].URL != "http://api.hub-12.qa.localhost:8000" {
		t.Errorf("the service's own URL is %s", now.Services[0].URL)
	}
	next := s.update(2)
	s.reportOf(next.ID, controlplane.Applying, controlplane.Ready)
	s.look()
	const latest = "api.latest--hub.qa.localhost"
	if got := s.routes(latest)[latest]; got != next.ID {
		t.Errorf("after an update, the alias leads to %q", got)
	}

	// Another rule has the same branch: the first one keeps the alias, and the other one says so.
	other := s.putRule("two", controlplane.ReviewGitHub, func(p *RulePut) { p.Rule.Aliases = true })
	s.deliverEvent(other, hubEvent("opened", 12, "c2", 2))
	forget := farAway()
	s.execSQL("UPDATE reviews SET due_at = now() - interval '1 second'")
	s.failOnError(s.advanceDue(t.Context(), &forget))
	two := s.listReviews(other)[0]
	s.reportOf(two.DeploymentID, controlplane.Applying, controlplane.Ready)
	s.execSQL("UPDATE reviews SET due_at = now() - interval '1 second'")
	s.failOnError(s.advanceDue(t.Context(), &forget))
	if two = s.listReviews(other)[0]; !strings.Contains(two.Remark, "belongs to another rule") {
		t.Errorf("the other rule's review says %q", two.Remark)
	}
	const branch = "branch--feature-cart.qa.localhost"
	if got := s.routes(branch)[branch]; got != next.ID {
		t.Errorf("the branch's alias leads to %q", got)
	}

	// Somebody removes what the alias leads to.
	_, err := s.Lifecycle.Remove(t.Context(), system, next.ID)
	s.failOnError(err)
	s.reportOf(next.ID, controlplane.Removing, controlplane.Removed)
	s.failOnError(s.advanceDue(t.Context(), &forget))
	if got := s.routes(latest); got[latest] != "" {
		t.Errorf("the alias of what is gone leads to %v", got)
	}
	s.failOnError(s.DeleteRule(t.Context(), system, "two"))
	if got := s.routes("latest--two"); len(got) > 0 {
		t.Errorf("the aliases of a deleted rule lead to %v", got)
	}
}

// Whoever watches a deployment learns that its aliases ended with their rule.
func TestAliases_EndWithTheRule(t *testing.T) {
	s := newAsideStory(t)
	s.rule = s.putRule("hub", controlplane.ReviewGitHub, func(p *RulePut) {
		p.Rule.APIURL, p.Rule.Aliases = s.host.URL, true
	})
	s.look()
	before, _ := s.find("hub-12")
	s.failOnError(s.DeleteRule(t.Context(), system, "hub"))
	after, _ := s.find("hub-12")
	if got := s.routes("latest--hub"); len(got) > 0 || after.Revision == before.Revision {
		t.Errorf("revision %d after %d, and %v leads somewhere", after.Revision, before.Revision, got)
	}
}

// An address that a deployment has is not an alias's to take.
func TestAliases_TakeNoHostOfOthers(t *testing.T) {
	s := newAsideStory(t)
	taken, err := s.Lifecycle.Create(t.Context(), system, lifecycle.Request{Name: "latest--hub",
		Project: "shop", Environment: "qa", Versions: map[pipeline.StepKey]string{"api": "pr-12"}})
	s.failOnError(err)
	s.rule = s.putRule("hub", controlplane.ReviewGitHub, func(p *RulePut) {
		p.Rule.APIURL, p.Rule.Aliases = s.host.URL, true
	})
	x := s.look()
	if !strings.Contains(x.Remark, "belongs to another deployment") {
		t.Errorf("the review says %q", x.Remark)
	}
	const host = "api.latest--hub.qa.localhost"
	if got := s.routes(host)[host]; got != taken.ID {
		t.Errorf("the host leads to %s", got)
	}
	if hosts := s.hosts(x.DeploymentID); !slices.Contains(hosts, "hub-12.qa.localhost") {
		t.Errorf("the deployment's own hosts are %v", hosts)
	}
}
