package review

import (
	"context"
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
	if !strings.Contains(rule.Tag, "{commit}") && !strings.Contains(rule.Tag, "{short}") {
		return controlplane.NewInvalidError("tag", "forks_tag",
			"a fork's commit is approved, and the tag does not name the commit",
			"Put {commit} or {short} into the tag.")
	}
	return nil
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

// approveCommit lets the commit that somebody named be deployed, if it is the newest one still.
func (r *Reviews) approveCommit(ctx context.Context, actor access.Actor,
	rule controlplane.ReviewRule, x *controlplane.Review, commit string) (string, error) {
	switch {
	case !x.Fork:
		return "This pull request is not from a fork, so nothing waits for approval.", nil
	case x.Want != controlplane.GoalPresent:
		return "The pull request is closed.", nil
	case len(commit) < shortCommit:
		return "Name the commit that you looked at: " + approveText(x.Commit) + ".", nil
	case !strings.HasPrefix(strings.ToLower(x.Commit), commit):
		return "The newest commit is another one. Look at it, and write " +
			approveText(x.Commit) + ".", nil
	case x.ApprovedCommit == x.Commit:
		return "This commit is approved already.", nil
	}
	approved := false
	entry := actor.NewAuditEntry("approve commit of fork", "rule "+rule.Name)
	entry.Detail = fmt.Sprintf("%s, commit %s", x.Key, x.Commit)
	giveUpAt := time.Now().Add(rule.Wait)
	err := r.Store.InAuditedTx(ctx, entry, func(tx *postgres.Tx) (err error) {
		approved, err = tx.Reviews().Approve(ctx, *x, giveUpAt)
		return err
	})
	if err != nil {
		return "", err
	}
	if !approved {
		return "A newer commit came meanwhile. Look at it, and approve that one.", nil
	}
	x.Generation++
	x.ApprovedCommit, x.State, x.Detail, x.GiveUpAt = x.Commit, controlplane.ReviewWaiting, "",
		giveUpAt
	return "The commit may be deployed.", nil
}
