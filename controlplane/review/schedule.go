package review

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/pipeline"
)

// A rule whose source is the schedule has one review, that of its branch. At each of its times that
// review wants the newest build of the branch, as a push would. Times that nobody was there for
// count once.

const (
	// branchTag is the tag of such a rule: which one a branch has is looked up then.
	branchTag = "{branch}"
	// longestLife is a year.
	longestLife = 366 * 24
)

// checkSchedule validates when a rule deploys its branch, and computes the next time.
func checkSchedule(rule, old controlplane.ReviewRule, now time.Time) (next time.Time, err error) {
	plan := rule.Schedule
	if rule.Source != controlplane.ReviewSchedule {
		if plan != (controlplane.ReviewSchedulePlan{}) {
			err = invalidSchedule("schedule", "only a rule whose source is the schedule has one",
				"Set source to schedule, or leave out the schedule.")
		}
		return next, err
	}
	switch {
	case rule.Branch == "" || strings.ContainsAny(rule.Branch, "*?["):
		return next, invalidSchedule("branch", "a schedule deploys one branch",
			"Name it: main, for example.")
	case rule.Tag != branchTag:
		return next, invalidSchedule("tag", "a schedule takes the newest tag of its branch",
			"Write the tag as {branch}.")
	case !rule.Filter.IsEmpty() || rule.Forks || rule.Repository != "" || rule.APIURL != "":
		return next, invalidSchedule("source", "a schedule knows no pull requests and no code host",
			"Leave out filter, forks, repository and api_url.")
	case plan.Hours < 0 || plan.Hours > longestLife:
		return next, invalidSchedule("schedule.lifetime_hours", "a deployment lives for up to a year",
			"Give 1 to "+strconv.Itoa(longestLife)+", or none for what the project says.")
	}
	next, err = nextRun(plan, now)
	switch {
	case err != nil:
		return next, err
	case next.IsZero() && plan != old.Schedule && !samePlan(plan, old.Schedule):
		return next, invalidSchedule("schedule.until", "the schedule ends before its first time",
			"Give a later end, or other times.")
	case samePlan(plan, old.Schedule) && old.Active && rule.Branch == old.Branch:
		// What is due stays due, however often the same rule is applied.
		return old.NextRun, nil
	}
	return next, nil
}

func samePlan(a, b controlplane.ReviewSchedulePlan) bool {
	same := a.Until == nil && b.Until == nil ||
		a.Until != nil && b.Until != nil && a.Until.Equal(*b.Until)
	a.Until, b.Until = nil, nil
	return same && a == b
}

// nextRun is when a plan comes next; zero if it has ended.
func nextRun(plan controlplane.ReviewSchedulePlan, now time.Time) (next time.Time, err error) {
	clock, err := parseClock(plan.At)
	if err != nil {
		return next, invalidSchedule("schedule.at", "this is not a time: "+err.Error(),
			"Write 02:30 for every night, mon-fri 02:30, or the five fields of cron: 30 2 * * 1-5.")
	}
	zone, err := time.LoadLocation(plan.TimeZone)
	if err != nil || plan.TimeZone == "" || plan.TimeZone == "Local" {
		return next, invalidSchedule("schedule.time_zone", "this is not the name of a time zone",
			"Write it as Europe/Berlin, or UTC.")
	}
	if next = clock.nextTime(now, zone); next.IsZero() {
		return next, invalidSchedule("schedule.at", "there is no such day",
			"Write 02:30 for every night, or a day that comes.")
	}
	if plan.Until != nil && next.After(*plan.Until) {
		return time.Time{}, nil
	}
	return next.UTC(), nil
}

func invalidSchedule(field, message, remedy string) error {
	return controlplane.NewInvalidError(field, "schedule_invalid", message, remedy)
}

// startDue has the branches of rules deployed whose time has come. However many times were missed,
// the next one is after now.
func (r *Reviews) startDue(ctx context.Context) error {
	return r.Store.InTx(ctx, func(tx *postgres.Tx) error {
		if err := lockEvents(ctx, tx); err != nil {
			return err
		}
		now, err := tx.DatabaseTime(ctx)
		if err != nil {
			return err
		}
		due, err := tx.ReviewRules().ClaimDue(ctx, atOnce)
		for _, rule := range due {
			err = errors.Join(err, startScheduled(ctx, tx, rule, now))
		}
		return err
	})
}

func startScheduled(
	ctx context.Context, tx *postgres.Tx, rule controlplane.ReviewRule, now time.Time,
) error {
	next, err := nextRun(rule.Schedule, now)
	if err != nil {
		next = time.Time{} // a zone that this release no longer knows: an admin has to look
	}
	if err := tx.ReviewRules().SetNextRun(ctx, rule.ID, next); err != nil {
		return err
	}
	e := event{branch: rule.Branch, step: reopens}
	old, known, err := findReview(ctx, tx, rule, &e)
	if err != nil {
		return err
	}
	return putReview(ctx, tx, rule, e, old, known)
}

// branchVersions are the newest tags that services have of a branch.
func (r *Reviews) branchVersions(ctx context.Context, rule controlplane.ReviewRule,
) (map[pipeline.StepKey]string, error) {
	all, err := r.Catalog.BranchTags(ctx, worker, rule.Project, rule.Branch)
	if err != nil {
		return nil, err
	}
	tags := map[pipeline.StepKey]string{}
	why := ""
	for _, t := range all {
		if t.Matched {
			tags[t.Step] = t.Tag
		} else {
			why = t.Reason
		}
	}
	if len(tags) == 0 {
		return nil, &controlplane.Error{Kind: controlplane.Unavailable, Code: "tag_awaited",
			Message: "no service has a tag of branch " + rule.Branch + " yet: " + why,
			Remedy:  "Check that the images of the branch are pushed, with its name in their tags."}
	}
	return tags, nil
}
