package review

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// Anyone can open a pull request from a fork, and what it deploys gets the project's secrets. So
// each commit waits until somebody who may write to the repository names it: a push that comes
// between their look and their word is another commit.

// shortCommit is how many characters name a commit.
const shortCommit = 7

// checkForks refuses a rule whose approvals would be for more than one commit.
func checkForks(rule controlplane.ReviewRule) error {
	if !rule.Forks {
		return nil
	}
	switch rule.Source {
	case controlplane.ReviewGitHub, controlplane.ReviewGitLab, controlplane.ReviewGitea:
	default:
		return controlplane.NewInvalidError("forks", "forks_unknown",
			"events of this source do not say what is of a fork",
			"Choose github, gitlab or gitea as the source, or leave forks out.")
	}
	if !namesCommit(rule) {
		return controlplane.NewInvalidError("tag", "forks_tag",
			"a fork's commit is approved, and the tag does not name the commit",
			"Put {commit} or {short} into the tag.")
	}
	return nil
}

// namesCommit reports whether the tag of a rule is of one commit.
func namesCommit(rule controlplane.ReviewRule) bool {
	return strings.Contains(rule.Tag, "{commit}") || strings.Contains(rule.Tag, "{short}")
}

// waitForApproval leaves a fork's commit waiting, and says so below the pull request once.
func (r *Reviews) waitForApproval(
	ctx context.Context, rule controlplane.ReviewRule, x *controlplane.Review,
) {
	x.State, x.DueAt = controlplane.ReviewWaiting, time.Now().Add(r.Ask)
	x.Detail = "a commit of a fork waits until somebody who may write to the repository writes " +
		approveText(x.Commit)
	if x.Told == x.Generation {
		return
	}
	r.reportAnswer(ctx, rule, x)
	if x.CommentID != "" {
		x.Told = x.Generation
	}
}

func approveText(commit string) string {
	return "/nullops approve " + commit[:min(shortCommit, len(commit))]
}

// ApproveCommit lets an admin approve the commit of a fork without writing below the pull request.
// It returns the review as it is then, and succeeds if the commit was approved before.
func (r *Reviews) ApproveCommit(ctx context.Context, actor access.Actor, ruleName, key,
	commit string) (x controlplane.Review, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return x, err
	}
	var rule controlplane.ReviewRule
	err = r.Store.Read(ctx, func(tx *postgres.Tx) (err error) {
		if rule, err = tx.ReviewRules().ByName(ctx, ruleName); err != nil {
			return err
		}
		found := false
		if x, found, err = tx.Reviews().ByKey(ctx, rule.ID, key); err == nil && !found {
			err = controlplane.NewNotFoundError("review", key)
		}
		return err
	})
	if err != nil {
		return x, err
	}
	_, err = r.approveCommit(ctx, actor, rule, &x, commit)
	return x, err
}

// approveCommit lets the commit that somebody named be deployed, if it is the newest one still. It
// reports false if that commit was approved before.
func (r *Reviews) approveCommit(ctx context.Context, actor access.Actor,
	rule controlplane.ReviewRule, x *controlplane.Review, commit string) (news bool, err error) {
	if err := checkApproval(*x, strings.ToLower(commit)); err != nil {
		return false, err
	}
	if x.ApprovedCommit == x.Commit {
		return false, nil
	}
	approved := false
	entry := actor.NewAuditEntry("approve commit of fork", "rule "+rule.Name)
	entry.Detail = fmt.Sprintf("%s, commit %s", x.Key, x.Commit)
	giveUpAt := time.Now().Add(rule.Wait)
	err = r.Store.InAuditedTx(ctx, entry, func(tx *postgres.Tx) (err error) {
		approved, err = tx.Reviews().Approve(ctx, *x, giveUpAt)
		if err == nil && !approved {
			err = controlplane.NewConflictError("review_changed", "a newer commit came meanwhile",
				"Look at it, and approve that one.")
		}
		return err
	})
	if err != nil {
		return false, err
	}
	x.Generation++
	x.ApprovedCommit, x.State, x.Detail, x.GiveUpAt = x.Commit, controlplane.ReviewWaiting, "",
		giveUpAt
	return true, nil
}

// checkApproval refuses a word for anything but the newest commit of an open pull request of a
// fork.
func checkApproval(x controlplane.Review, commit string) error {
	switch {
	case !x.Fork:
		return controlplane.NewConflictError("review_not_of_fork",
			"this pull request is not from a fork, so nothing waits for approval", "")
	case x.Outside != "":
		return controlplane.NewConflictError("review_outside",
			"the rule leaves this pull request out: "+x.Outside, "")
	case x.Want != controlplane.GoalPresent:
		return controlplane.NewConflictError("review_closed", "the pull request is closed", "")
	case len(commit) < shortCommit:
		return controlplane.NewInvalidError("commit", "commit_short",
			"the commit is named by fewer than seven characters",
			"Give at least seven characters of the commit that you looked at.")
	case !strings.HasPrefix(strings.ToLower(x.Commit), commit):
		return controlplane.NewConflictError("commit_outdated", "the newest commit is another one",
			"Look at the newest commit of the pull request, and approve that one.")
	}
	return nil
}

// answerApproval does "/nullops approve COMMIT" of somebody who may write to the repository.
func (r *Reviews) answerApproval(ctx context.Context, actor access.Actor,
	rule controlplane.ReviewRule, x *controlplane.Review, commit string) (string, error) {
	news, err := r.approveCommit(ctx, actor, rule, x, commit)
	switch said, _ := errors.AsType[*controlplane.Error](err); {
	case err == nil && news:
		return "The commit may be deployed.", nil
	case err == nil:
		return "This commit is approved already.", nil
	case said == nil || said.Kind == controlplane.Unavailable:
		return "", err
	case said.Code == "commit_short" || said.Code == "commit_outdated":
		return controlplane.Sentence(said.Message) + " Look at the newest one, and write " +
			approveText(x.Commit) + ".", nil
	default:
		return controlplane.Sentence(said.Message), nil
	}
}
