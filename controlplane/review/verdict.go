package review

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres"
)

// verdictPatience is how long a code host may refuse the status of a verdict.
const verdictPatience = time.Hour

// reportVerdict brings QA's verdict to the commit, as a status of its own that the protection of a
// branch can require.
func (r *Reviews) reportVerdict(
	ctx context.Context, rule controlplane.ReviewRule, x *controlplane.Review,
) {
	var v controlplane.Verdict
	var said bool
	err := r.Store.Read(ctx, func(tx *postgres.Tx) (err error) {
		v, said, err = tx.Verdicts().OfCommit(ctx, x.ID, x.Commit)
		return err
	})
	if err == nil && said {
		err = r.postVerdict(ctx, rule, *x, v)
		r.recordRefusal(ctx, rule, err)
	}
	if err == nil || said && time.Since(lastChange(v)) > verdictPatience {
		x.VerdictTold = x.VerdictWanted
		return
	}
	r.Log.WarnContext(ctx, "a verdict was not told", "rule", rule.Name, "review", x.Key, "error", err)
	x.DueAt = time.Now().Add(r.Ask)
}

func lastChange(v controlplane.Verdict) time.Time {
	if v.VoidedAt != nil {
		return *v.VoidedAt
	}
	return v.At
}

func (r *Reviews) postVerdict(ctx context.Context, rule controlplane.ReviewRule,
	x controlplane.Review, v controlplane.Verdict) error {
	h, ok, err := r.codeHostOf(ctx, rule, &x)
	if err != nil || !ok {
		return err
	}
	s := verdictStatus(x, v)
	s.name, s.target = "nullops/"+rule.Name+"/verdict",
		r.URL+"/deployments/"+string(v.Deployment)+"/verdict"
	return h.postCommitStatus(ctx, x, s)
}

// verdictStatus is what the commit's status says. A verdict about images that do not run any more,
// or about another deployment, says nothing about those that run.
func verdictStatus(x controlplane.Review, v controlplane.Verdict) commitStatus {
	by := " by " + v.Author
	switch {
	case v.VoidedAt != nil:
		return commitStatus{state: statusPending, words: "QA has to look again: " + v.VoidedReason}
	case v.Deployment != x.DeploymentID:
		return commitStatus{state: statusPending,
			words: "QA has to look again: another deployment has its place"}
	case v.Outcome == controlplane.VerdictFailed:
		return commitStatus{state: statusFailure, words: "Failed" + by + describeRemarks(v)}
	case v.Outcome == controlplane.VerdictRemarks:
		return commitStatus{state: statusSuccess, words: "Passed with remarks" + by + describeRemarks(v)}
	default:
		return commitStatus{state: statusSuccess, words: "Passed" + by + describeRemarks(v)}
	}
}

func describeRemarks(v controlplane.Verdict) string {
	if v.Remarks == "" {
		return ""
	}
	return ": " + v.Remarks
}

// commitStatus is one status of a commit; a commit has one of each name.
type commitStatus struct {
	name, state, target, words string
}

// The states, in the words of GitHub and Gitea.
const (
	statusSuccess = "success"
	statusFailure = "failure"
	statusPending = "pending"
)

// postCommitStatus sends a status where the source has such a thing.
func (h codeHost) postCommitStatus(
	ctx context.Context, x controlplane.Review, s commitStatus,
) error {
	form := map[string]string{"state": s.state, "target_url": s.target,
		"description": clipText(s.words, 130)}
	path, name := "", "context"
	switch h.rule.Source {
	case controlplane.ReviewGitHub, controlplane.ReviewGitea:
		path = "/repos/" + h.repositoryPath(x) + "/statuses/" + url.PathEscape(x.Commit)
	case controlplane.ReviewGitLab:
		path, name = "/projects/"+h.repositoryPath(x)+"/statuses/"+url.PathEscape(x.Commit), "name"
		if s.state == statusFailure {
			form["state"] = "failed"
		}
	case controlplane.ReviewBitbucket:
		return h.postBitbucketStatus(ctx, x, s)
	case controlplane.ReviewGeneric:
		return h.postGenericStatus(ctx, x, s)
	default:
		return nil
	}
	form[name] = s.name
	return h.checkStatus(ctx, s, h.callAPI(ctx, http.MethodPost, path, form, nil))
}

// checkStatus is not concerned about a status that a code host never takes: of a commit that was
// pushed away, or on GitLab one that the commit has already.
func (h codeHost) checkStatus(ctx context.Context, s commitStatus, err error) error {
	if isInvalid(err) {
		h.reviews.Log.InfoContext(ctx, "the code host takes no status of a commit", "rule",
			h.rule.Name, "error", err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("status %s: %w", s.name, err)
	}
	return nil
}

// postGenericStatus tells a receiver of our own form of a status that is no result of a deployment.
func (h codeHost) postGenericStatus(
	ctx context.Context, x controlplane.Review, s commitStatus,
) error {
	return h.callAPI(ctx, http.MethodPost, "", map[string]any{"key": x.Key, "number": x.Number,
		"status": s.name, "state": s.state, "text": s.words, "deployment": x.Deployment,
		"commit": x.Commit, "link": s.target}, nil)
}
