package review

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres"
)

// alertCauses are what is wrong with rules.
func (s *story) alertCauses() (all []controlplane.AlertCause) {
	s.t.Helper()
	s.failOnError(s.Store.Read(s.t.Context(), func(tx *postgres.Tx) error {
		found, err := tx.Alerts().ListCauses(s.t.Context(), postgres.AlertLimits{})
		for _, c := range found {
			if strings.HasPrefix(c.Condition, "rule.") {
				all = append(all, c)
			}
		}
		return err
	}))
	return all
}

func newScheduleStory(t *testing.T) *story {
	t.Helper()
	s := newStory(t)
	s.rule = s.putRule("nightly", controlplane.ReviewSchedule, func(p *RulePut) {
		p.Secret = nil
		p.Rule.Branch, p.Rule.Tag = "main", branchTag
		p.Rule.Schedule = controlplane.ReviewSchedulePlan{At: "02:30", TimeZone: "Europe/Berlin",
			Hours: 12}
	})
	return s
}

// comes has the rule's time come, and its work looked at.
func (s *story) comes() controlplane.Review {
	s.t.Helper()
	s.execSQL("UPDATE review_rules SET next_run_at = now() - interval '100 hours'")
	s.look()
	return s.look()
}

// A schedule deploys the newest build of its branch, updates what is there beside it, and leaves
// what is new already. However many times were missed, it comes once.
func TestSchedule_DeploysTheNewestOfItsBranch(t *testing.T) {
	s := newScheduleStory(t)
	if left := time.Until(s.rule.NextRun); left <= 0 || left > 25*time.Hour {
		t.Fatalf("its first time is in %s", left)
	}
	if all := s.listReviews(s.rule); len(all) > 0 {
		t.Fatalf("before its time: %+v", all)
	}
	s.images["shop/api:main"] = "sha256:" + strings.Repeat("a", 64)
	x := s.comes()
	s.expect(x, controlplane.ReviewCreating, true, "being created")
	if x.Generation != 1 {
		t.Fatalf("after four nights of downtime it came %d times", x.Generation)
	}
	d, _ := s.find("nightly-main")
	if left := time.Until(d.ExpiresAt); left > 12*time.Hour || left < 11*time.Hour {
		t.Errorf("it ends in %s", left)
	}
	// promise: W-02
	if len(d.Versions) != 1 || d.Versions[0].Tag != "main" {
		t.Errorf("it runs %+v", d.Versions)
	}
	s.report(controlplane.Applying, controlplane.Ready)
	s.expect(s.look(), controlplane.ReviewReady, true, "")
	rules, _, err := s.ListRules(t.Context(), system, controlplane.Page{Limit: 10})
	s.failOnError(err)
	for _, r := range rules {
		if r.Name == "nightly" && !r.NextRun.After(time.Now()) {
			t.Errorf("its next time is %s", r.NextRun)
		}
	}

	s.execSQL("UPDATE deployments SET active_at = now() - interval '11 hours'")
	s.expect(s.comes(), controlplane.ReviewReady, true, "")
	if now, _ := s.find("nightly-main"); now.ID != d.ID || time.Until(now.ExpiresAt) < 11*time.Hour {
		t.Errorf("without a newer build, %s ends in %s", now.ID, time.Until(now.ExpiresAt))
	}

	s.images["shop/api:main"] = "sha256:" + strings.Repeat("b", 64)
	x = s.comes()
	s.expect(x, controlplane.ReviewCreating, true, "prepared beside")
	s.reportOf(x.NextID, controlplane.Applying, controlplane.Ready)
	x = s.look()
	if now, _ := s.find("nightly-main"); now.ID == d.ID || now.ID != x.DeploymentID {
		t.Errorf("a newer build: %+v", now)
	}
	// One that has ended comes again.
	_, err = s.Lifecycle.Remove(t.Context(), system, x.DeploymentID)
	s.failOnError(err)
	s.reportOf(x.DeploymentID, controlplane.Removing, controlplane.Removed)
	s.look()
	if now, found := s.find("nightly-main"); found {
		t.Errorf("before its next time there is %+v", now)
	}
	if x = s.comes(); x.DeploymentID == "" || x.State != controlplane.ReviewCreating {
		t.Errorf("after its end: %+v", x)
	}
}

// A branch without an image fails at its time, which is an alert until it works.
func TestSchedule_FailsAloud(t *testing.T) {
	s := newScheduleStory(t)
	s.comes()
	s.endTime("1 second")
	s.expect(s.look(), controlplane.ReviewFailed, false, "no service has a tag of branch main")
	causes := s.alertCauses() // promise: O-02
	if len(causes) != 1 || !strings.Contains(causes[0].Detail, "branch main") ||
		causes[0].Label != "nightly" {
		t.Fatalf("what is wrong is %+v", causes)
	}
	s.images["shop/api:main-51d0e7b"] = "sha256:" + strings.Repeat("a", 64)
	s.expect(s.comes(), controlplane.ReviewCreating, true, "being created")
	// promise: O-02
	if causes := s.alertCauses(); len(causes) > 0 {
		t.Errorf("what is still wrong is %+v", causes)
	}
}

// A schedule ends, and a rule that is switched off waits for its next time.
func TestSchedule_Ends(t *testing.T) {
	s := newScheduleStory(t)
	rule := s.rule
	until := rule.NextRun.Add(time.Hour).UTC().Truncate(time.Second)
	rule.Schedule.Until = &until
	_, err := s.PutRule(t.Context(), system, RulePut{Rule: rule})
	s.failOnError(err)
	s.execSQL(`UPDATE review_rules SET next_run_at = now() - interval '1 second',
		schedule = jsonb_set(schedule, '{until}', '"2026-01-01T00:00:00Z"') WHERE name = 'nightly'`)
	s.images["shop/api:main"] = "sha256:" + strings.Repeat("a", 64)
	s.look()
	got, _, err := s.GetRule(t.Context(), system, "nightly")
	if err != nil || !got.NextRun.IsZero() {
		t.Errorf("after its end it comes at %s: %v", got.NextRun, err)
	}
	off := s.rule
	off.Active = false
	for _, active := range []bool{false, true} {
		off.Active = active
		saved, err := s.PutRule(t.Context(), system, RulePut{Rule: off})
		s.failOnError(err)
		if !saved.Rule.NextRun.After(time.Now()) {
			t.Errorf("switched to %v it comes at %s", active, saved.Rule.NextRun)
		}
	}
}

// Applying the same rule again does not postpone it.
func TestSchedule_ApplyingAgainChangesNothing(t *testing.T) {
	s := newScheduleStory(t)
	s.execSQL("UPDATE review_rules SET next_run_at = now() - interval '1 second'")
	saved, err := s.PutRule(t.Context(), system, RulePut{Rule: s.rule})
	s.failOnError(err)
	if saved.Changed || saved.Rule.NextRun.After(time.Now()) {
		t.Errorf("applied again: changed %v, next %s", saved.Changed, saved.Rule.NextRun)
	}
}

func TestSchedule_RefusesWhatMakesNoSense(t *testing.T) {
	s := newScheduleStory(t)
	past := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	for field, change := range map[string]func(*controlplane.ReviewRule){
		"branch": func(r *controlplane.ReviewRule) { r.Branch = "release/*" },
		"tag":    func(r *controlplane.ReviewRule) { r.Tag = "pr-{number}" },
		"source": func(r *controlplane.ReviewRule) { r.Filter.Target = "main" },
		"schedule": func(r *controlplane.ReviewRule) {
			r.Source = controlplane.ReviewGitHub
		},
		"schedule.at":             func(r *controlplane.ReviewRule) { r.Schedule.At = "at noon" },
		"schedule.time_zone":      func(r *controlplane.ReviewRule) { r.Schedule.TimeZone = "Mars/Base" },
		"schedule.until":          func(r *controlplane.ReviewRule) { r.Schedule.Until = &past },
		"schedule.lifetime_hours": func(r *controlplane.ReviewRule) { r.Schedule.Hours = 9000 },
	} {
		rule := s.rule
		change(&rule)
		_, err := s.PutRule(t.Context(), system, RulePut{Rule: rule})
		said, ok := errors.AsType[*controlplane.Error](err)
		if !ok || said.Field != field || said.Remedy == "" {
			t.Errorf("%s: %+v", field, err)
		}
	}
}
